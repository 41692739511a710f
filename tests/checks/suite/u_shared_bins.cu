// Counts of four keys. FAULT: the counters do not begin as zeros.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int bins[4];
    int t = threadIdx.x;
#ifndef FAULT
    if (t < 4)
        bins[t] = 0;
    __syncthreads();
#endif
    atomicAdd(&bins[in[t] & 3], 1); //@ use
    __syncthreads();
    if (t < 4)
        out[t] = bins[t]; //@ use
}
