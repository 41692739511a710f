// The last CTA adds up what all have computed. FAULT: no fence between a CTA's sum and its count.
extern "C" __global__ void k(const int *in, int *sums, int *done, int *total)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int sum = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + t]);
    if (t == 0) {
        sums[blockIdx.x] = sum; //@ put
#ifndef FAULT
        __threadfence();
#endif
        last = atomicAdd(done, 1) == gridDim.x - 1;
        if (last)
            __threadfence();
    }
    __syncthreads();
    if (last && t < gridDim.x)
        atomicAdd(total, sums[t]); //@ get
}
