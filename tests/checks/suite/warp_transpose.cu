// A warp transposes 32x4 numbers through shared memory, twice. FAULT: the second round overwrites what the first still reads.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32][5];
    int t = threadIdx.x;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 4; i++)
            tile[t][i] = in[round * 128 + t * 4 + i]; //@ put
        __syncwarp();
        for (int i = 0; i < 4; i++)
            out[round * 128 + i * 32 + t] = tile[(i * 32 + t) % 32][(i * 32 + t) / 32]; //@ own
        for (int i = 0; i < 4; i++)
            out[round * 128 + i * 32 + t] += tile[(t + 1) % 32][i]; //@ get
#ifndef FAULT
        __syncwarp();
#endif
    }
}
