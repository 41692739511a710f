// The first lane prepares what all others use. FAULT: they get its word by a shuffle, and the rest from memory.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int base[4], offset[4];
    int t = threadIdx.x, w = t / 32, first = 0;
    if (t % 32 == 0) {
        base[w] = in[w] * 100; //@ put
        offset[w] = in[w] + 1; //@ put
        first = in[w];
    }
    first = __shfl_sync(0xffffffff, first, 0);
#ifndef FAULT
    __syncwarp();
#endif
    out[t] = first + base[w] + offset[w] * t; //@ get
}
