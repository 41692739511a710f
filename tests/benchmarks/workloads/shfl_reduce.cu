// Sums of 256 floats each: shuffles within a warp, then shared memory between the eight warps.

extern "C" __global__ void shfl_reduce(unsigned blocks, const float *in, float *out)
{
    __shared__ float part[8];
    unsigned t = threadIdx.x, lane = t & 31;
    float v = in[blockIdx.x * 256 + t];
    for (unsigned d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (lane == 0) part[t >> 5] = v;
    __syncthreads();
    if (t < 32) {
        v = lane < 8 ? part[lane] : 0.0f;
        for (unsigned d = 4; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
        if (t == 0) out[blockIdx.x] = v;
    }
}
