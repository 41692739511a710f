// Sums of three neighbours. FAULT: at the ends of the array there is no halo, and nothing stands for it.
extern "C" __global__ void k(const int *in, int n, int *out)
{
    __shared__ int tile[34];
    int t = threadIdx.x, i = blockIdx.x * 32 + t;
    tile[t + 1] = in[i];
    if (t == 0 && i > 0)
        tile[0] = in[i - 1];
    if (t == 31 && i + 1 < n)
        tile[33] = in[i + 1];
#ifndef FAULT
    if (i == 0)
        tile[0] = 0;
    if (i == n - 1)
        tile[33] = 0;
#endif
    __syncthreads();
    out[i] = tile[t] + tile[t + 1] + tile[t + 2]; //@ use
}
