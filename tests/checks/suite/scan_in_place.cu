// An inclusive scan in place. FAULT: an element is replaced while its neighbour may still have to read it.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int left = t >= d ? sums[t - d] : 0; //@ get
#ifndef FAULT
        __syncthreads();
#endif
        sums[t] += left; //@ put
        __syncthreads();
    }
    out[t] = sums[t];
}
