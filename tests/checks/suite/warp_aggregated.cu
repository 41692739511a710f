// Of the lanes with one key the first adds up for all. FAULT: other warps have the same keys, and it adds without an atomic.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int bins[4];
    int t = threadIdx.x, key = in[t] & 3;
    if (t < 4)
        bins[t] = 0;
    __syncthreads();
    unsigned same = __match_any_sync(0xffffffff, key);
    if (t % 32 == __ffs(same) - 1) {
#ifdef FAULT
        bins[key] += __popc(same); //@ add
#else
        atomicAdd(&bins[key], __popc(same));
#endif
    }
    __syncthreads();
    if (t < 4)
        out[t] = bins[t];
}
