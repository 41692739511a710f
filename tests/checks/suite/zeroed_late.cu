// Counts of four keys. FAULT: counting does not wait until the counters are zero.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int bins[4];
    int t = threadIdx.x;
    if (t < 4)
        bins[t] = 0; //@ zero
#ifndef FAULT
    __syncthreads();
#endif
    atomicAdd(&bins[in[t] & 3], 1); //@ add
    __syncthreads();
    if (t < 4)
        out[t] = bins[t];
}
