// Sums 64 numbers in a tree. FAULT: nothing separates the rounds.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * 64 + t]; //@ put
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half]; //@ add
#ifndef FAULT
        __syncthreads();
#endif
    }
    if (t == 0)
        out[blockIdx.x] = tile[0];
}
