// Collects the odd numbers, and sums them. FAULT: the place of the next one is no atomic counter.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int count, items[64];
    int t = threadIdx.x;
    if (t == 0)
        count = 0;
    __syncthreads();
    if (in[t] & 1) {
#ifdef FAULT
        int at = count++; //@ count
#else
        int at = atomicAdd(&count, 1);
#endif
        items[at] = in[t]; //@ item
    }
    __syncthreads();
    if (t < count)
        atomicAdd(out, items[t]);
}
