// Keeps the odd numbers, in any order. FAULT: the place of the next one is no atomic counter.
extern "C" __global__ void k(const int *in, int *out, int *count)
{
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
    if (x & 1) {
#ifdef FAULT
        int at = count[0]++; //@ count
#else
        int at = atomicAdd(count, 1);
#endif
        out[at] = x; //@ put
    }
}
