// Sums a tile, of which less than all comes from the input. FAULT: nobody fills the rest.
extern "C" __global__ void k(const int *in, int n, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
#ifdef FAULT
    if (t < n)
        tile[t] = in[t];
#else
    tile[t] = t < n ? in[t] : 0;
#endif
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < 32; i++)
        sum += tile[(t + i) % 32]; //@ from
    out[t] = sum; //@ use
}
