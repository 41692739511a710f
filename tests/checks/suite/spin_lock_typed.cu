// A spin lock, as C++ says it. FAULT: it is taken with a relaxed exchange.
#include <cuda/atomic>
#ifdef FAULT
#define TAKE cuda::memory_order_relaxed
#else
#define TAKE cuda::memory_order_acquire
#endif
extern "C" __global__ void k(int *lock, int *total)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> held(*lock);
    while (held.exchange(1, TAKE) != 0) {
    }
    total[0] += blockIdx.x + 1; //@ add
    held.store(0, cuda::memory_order_release);
}
