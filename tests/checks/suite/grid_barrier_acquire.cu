// All CTAs wait for one another. FAULT: no fence behind the wait.
extern "C" __global__ void k(const int *in, int *data, int *out, int *count)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, n = gridDim.x * blockDim.x;
    data[i] = in[i] + 1; //@ put
    __syncthreads();
    if (t == 0) {
        __threadfence();
        atomicAdd(count, 1);
        while (*(volatile int *)count < gridDim.x) {
        }
#ifndef FAULT
        __threadfence();
#endif
    }
    __syncthreads();
    out[i] = data[n - 1 - i]; //@ get
}
