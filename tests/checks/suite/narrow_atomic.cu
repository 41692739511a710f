// Counts of eight keys in global memory. FAULT: the atomic additions are atomic within their CTA only.
extern "C" __global__ void k(const int *in, int *bins)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULT
    atomicAdd_block(&bins[in[i] & 7], 1); //@ add
#else
    atomicAdd(&bins[in[i] & 7], 1);
#endif
}
