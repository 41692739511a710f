#include <cuda/atomic>
__global__ void k(int *x)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> a(*x); cuda::atomic_ref<int, cuda::thread_scope_block> b(x[1]);
    a.store(1, cuda::memory_order_release); x[2] = a.load(cuda::memory_order_acquire); b.fetch_add(2, cuda::memory_order_relaxed);
    a.fetch_or(4); cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
}
