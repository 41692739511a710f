// One thread decides for all, twice. FAULT: it decides again while others have still to read.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int base;
    int t = threadIdx.x, sum = t;
    for (int i = 0; i < 2; i++) {
        if (t == 0)
            base = in[i]; //@ put
        __syncthreads();
        sum += base; //@ get
#ifndef FAULT
        __syncthreads();
#endif
    }
    out[t] = sum;
}
