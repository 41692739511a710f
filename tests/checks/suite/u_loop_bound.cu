// Each thread sums the first numbers of a tile. FAULT: one too many, which lies in the part that nobody has written.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x, sum = 0;
    tile[t] = in[t];
    __syncthreads();
#ifdef FAULT
    for (int i = 0; i <= 32; i++)
#else
    for (int i = 0; i < 32; i++)
#endif
        sum += tile[i] * (t + i); //@ from
    out[t] = sum; //@ use
}
