// A warp sums 32 numbers in shared memory. FAULT: it is thought to run in step.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t];
    __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half]; //@ add
#ifndef FAULT
        __syncwarp();
#endif
    }
    if (t == 0)
        out[0] = tile[0];
}
