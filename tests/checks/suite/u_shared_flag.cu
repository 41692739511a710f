// Says which number is negative, if any is. FAULT: nobody says that none is, before somebody says which one is.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int which;
    int t = threadIdx.x;
#ifndef FAULT
    if (t == 0)
        which = -1;
    __syncthreads();
#endif
    if (in[t] < 0)
        which = t;
    __syncthreads();
    out[t] = which < 0 ? t : -1; //@ use
}
