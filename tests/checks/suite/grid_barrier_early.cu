// All CTAs wait for one another. FAULT: a CTA arrives before all its threads have written.
extern "C" __global__ void k(const int *in, int *data, int *out, int *count)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
    data[i] = in[i] + 1; //@ put
#ifndef FAULT
    __syncthreads();
#endif
    if (t == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int *)count < gridDim.x) {
        }
        __threadfence();
    }
    __syncthreads();
    out[i] = data[n - 1 - i]; //@ get
}
