// A warp sums 32 numbers, by volatile accesses. FAULT: it is thought to run in step. Volatile accesses are strong, so that there is no
// race: the sum may just be wrong.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ volatile int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t];
#ifndef FAULT
    __syncwarp();
#endif
    for (int half = 16; half > 0; half /= 2) {
        if (t < half)
            tile[t] += tile[t + half];
#ifndef FAULT
        __syncwarp();
#endif
    }
    if (t == 0)
        out[0] = tile[0];
}
