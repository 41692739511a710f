// Says whether any number is negative. FAULT: nobody says that none is, before somebody says that one is.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int some;
    int t = threadIdx.x;
#ifndef FAULT
    if (t == 0)
        some = 0;
    __syncthreads();
#endif
    if (in[t] < 0)
        some = 1;
    __syncthreads();
    out[t] = some ? -1 : t; //@ use
}
