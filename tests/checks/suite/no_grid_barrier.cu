// Two steps over all elements. FAULT: a barrier of the CTA is thought to separate the steps of the grid.
extern "C" __global__ void k(const int *in, int *data, int *out)
{
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    data[i] = in[i] + 1; //@ put
    __syncthreads();
#ifdef FAULT
    out[i] = data[gridDim.x * blockDim.x - 1 - i]; //@ get
#else
    out[i] = data[blockIdx.x * blockDim.x + blockDim.x - 1 - t];
#endif
}
