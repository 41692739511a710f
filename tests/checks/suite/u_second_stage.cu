// Two stages through allocated memory. FAULT: the first leaves every fourth place out.
extern "C" __global__ void k(const int *in, int *middle, int *out)
{
    int t = threadIdx.x;
#ifdef FAULT
    if (t % 4 != 3)
#endif
        middle[t] = in[t] * 2;
    __syncthreads();
    out[t] = middle[t ^ 1] + 1; //@ use
}
