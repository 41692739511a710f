// Inclusive prefix sums of 1024 elements a block: by shuffles within a warp, then the warps' sums likewise.

__device__ unsigned within_warp(unsigned v)
{
    unsigned lane = threadIdx.x & 31;
    for (unsigned d = 1; d < 32; d *= 2) {
        unsigned below = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d) v += below;
    }
    return v;
}

extern "C" __global__ void warp_scan(unsigned blocks, const unsigned *in, unsigned *out)
{
    __shared__ unsigned sums[32];
    unsigned t = threadIdx.x, i = blockIdx.x * 1024 + t;
    unsigned v = within_warp(in[i]);
    if ((t & 31) == 31) sums[t >> 5] = v;
    __syncthreads();
    if (t < 32) sums[t] = within_warp(sums[t]);
    __syncthreads();
    if (t >= 32) v += sums[(t >> 5) - 1];
    out[i] = v;
}
