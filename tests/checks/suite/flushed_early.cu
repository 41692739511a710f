// Counts of four keys. FAULT: the counters are read before all have counted.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int bins[4];
    int t = threadIdx.x;
    if (t < 4)
        bins[t] = 0;
    __syncthreads();
    atomicAdd(&bins[in[t] & 3], 1); //@ add
#ifndef FAULT
    __syncthreads();
#endif
    if (t < 4)
        out[t] = bins[t]; //@ get
}
