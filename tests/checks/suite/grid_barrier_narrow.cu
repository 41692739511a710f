// All CTAs wait for one another. FAULT: the barrier is one for the threads of a block.
#ifdef FAULT
#define ADD atomicAdd_block
#define FENCE __threadfence_block
#else
#define ADD atomicAdd
#define FENCE __threadfence
#endif
extern "C" __global__ void k(const int *in, int *data, int *out, int *count)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
    data[i] = in[i] + 1; //@ put
    __syncthreads();
    if (t == 0) {
        FENCE();
        ADD(count, 1); //@ count
        while (*(volatile int *)count < gridDim.x) { //@ wait
        }
        FENCE();
    }
    __syncthreads();
    out[i] = data[n - 1 - i]; //@ get
}
