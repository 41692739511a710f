// All threads of a CTA write, and one counts it. FAULT: it does not wait for the others.
extern "C" __global__ void k(const int *in, int *squares, int *done, int *total)
{
    __shared__ bool last;
    int t = threadIdx.x, n = blockDim.x * gridDim.x;
    squares[blockIdx.x * blockDim.x + t] = in[blockIdx.x * blockDim.x + t] * 2; //@ put
#ifndef FAULT
    __syncthreads();
#endif
    if (t == 0) {
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last)
        for (int i = t; i < n; i += blockDim.x)
            atomicAdd(total, squares[n - 1 - i]); //@ get
}
