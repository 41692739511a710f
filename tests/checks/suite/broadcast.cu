// One thread decides for all. FAULT: the others do not wait for it.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int base;
    int t = threadIdx.x;
    if (t == 0)
        base = in[0]; //@ put
#ifndef FAULT
    __syncthreads();
#endif
    out[t] = base + t; //@ get
}
