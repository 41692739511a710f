// Counts of eight keys in global memory. FAULT: no atomic addition.
extern "C" __global__ void k(const int *in, int *bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT
    bins[in[i] & 7]++; //@ add
#else
    atomicAdd(&bins[in[i] & 7], 1);
#endif
}
