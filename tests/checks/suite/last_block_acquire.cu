// The last CTA adds up what all have computed. FAULT: no fence between the count and what it reads. The fences before the counts
// are in an order, so that this shows only where another CTA's fence comes after the last one's.
extern "C" __global__ void k(const int *in, int *sums, int *done, int *total)
{
    __shared__ bool last;
    int t = threadIdx.x;
    int sum = __reduce_add_sync(0xffffffff, in[blockIdx.x * 32 + t]);
    if (t == 0) {
        sums[blockIdx.x] = sum; //@ put
        __threadfence();
        last = atomicAdd(done, 1) == gridDim.x - 1;
#ifndef FAULT
        if (last)
            __threadfence();
#endif
    }
    __syncthreads();
    if (last && t < gridDim.x)
        atomicAdd(total, sums[t]); //@ get
}
