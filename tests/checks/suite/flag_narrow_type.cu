// One CTA passes a number to another one, as C++ says it. FAULT: the flag is one for the threads of a block.
#include <cuda/atomic>
#ifdef FAULT
#define SCOPE cuda::thread_scope_block
#else
#define SCOPE cuda::thread_scope_device
#endif
extern "C" __global__ void k(const int *in, int *data, int *out, int *flag)
{
    cuda::atomic_ref<int, SCOPE> ready(*flag);
    if (blockIdx.x == 0) {
        data[0] = in[0] + 1; //@ put
        ready.store(1, cuda::memory_order_release); //@ set
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) { //@ wait
        }
        out[0] = data[0]; //@ get
    }
}
