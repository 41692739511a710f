// The maximum of 64 numbers. FAULT: compared and stored in two steps.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int most;
    int t = threadIdx.x;
    if (t == 0)
        most = -1;
    __syncthreads();
#ifdef FAULT
    if (in[t] > most) //@ max
        most = in[t]; //@ max
#else
    atomicMax(&most, in[t]);
#endif
    __syncthreads();
    if (t == 0)
        out[0] = most;
}
