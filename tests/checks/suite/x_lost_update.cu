// Each thread adds to a counter. FAULT: by a strong load and a strong store, between which another thread may store.
#include <cuda/atomic>
extern "C" __global__ void k(int *count)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> counter(*count);
#ifdef FAULT
    counter.store(counter.load(cuda::memory_order_relaxed) + 1, cuda::memory_order_relaxed);
#else
    counter.fetch_add(1, cuda::memory_order_relaxed);
#endif
}
