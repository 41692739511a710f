// One CTA passes a number to another one, as C++ says it. FAULT: the flag is relaxed.
#include <cuda/atomic>
#ifdef FAULT
#define STORE cuda::memory_order_relaxed
#define LOAD cuda::memory_order_relaxed
#else
#define STORE cuda::memory_order_release
#define LOAD cuda::memory_order_acquire
#endif
extern "C" __global__ void k(const int *in, int *data, int *out, int *flag)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        data[0] = in[0] + 1; //@ put
        ready.store(1, STORE);
    } else {
        while (ready.load(LOAD) == 0) {
        }
        out[0] = data[0]; //@ get
    }
}
