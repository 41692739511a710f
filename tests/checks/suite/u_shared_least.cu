// The least of 32 numbers. FAULT: nothing is greater than all, to begin with.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int least;
    int t = threadIdx.x;
#ifndef FAULT
    if (t == 0)
        least = 0x7fffffff;
    __syncthreads();
#endif
    atomicMin(&least, in[t]); //@ use
    __syncthreads();
    out[t] = in[t] - least; //@ use
}
