// Counts of four keys in shared memory. FAULT: no atomic addition.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int bins[4];
    int t = threadIdx.x;
    if (t < 4)
        bins[t] = 0;
    __syncthreads();
#ifdef FAULT
    bins[in[t] & 3]++; //@ add
#else
    atomicAdd(&bins[in[t] & 3], 1);
#endif
    __syncthreads();
    if (t < 4)
        out[t] = bins[t];
}
