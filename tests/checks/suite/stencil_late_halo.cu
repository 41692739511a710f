// Sums of three neighbours. FAULT: the halo is loaded behind the barrier.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[66];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t + 1] = in[i + 1];
#ifdef FAULT
    __syncthreads();
#endif
    if (t < 2)
        tile[t * 65] = in[blockIdx.x * 64 + t * 65]; //@ halo
#ifndef FAULT
    __syncthreads();
#endif
    out[i] = tile[t] + tile[t + 1] + tile[t + 2]; //@ get
}
