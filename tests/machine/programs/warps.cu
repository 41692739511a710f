// Sums of blocks: shuffles within warps, shared memory between them.
__inline__ __device__ float warp_sum(float v) {
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void block_sums(const float *in, float *out, int n) {
    __shared__ float part[32];
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
    v = warp_sum(v);
    if ((threadIdx.x & 31) == 0) part[threadIdx.x >> 5] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = threadIdx.x < (blockDim.x + 31) / 32 ? part[threadIdx.x] : 0.0f;
        v = warp_sum(v);
        if (threadIdx.x == 0) out[blockIdx.x] = v;
    }
}

// Keys of a block counted, one addition for all lanes with the same key; the others learn the place they got.
extern "C" __global__ void ranks(const unsigned *keys, unsigned *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned here = __ballot_sync(0xffffffffu, i < n);
    if (i < n) {
        unsigned same = __match_any_sync(here, keys[i]);
        unsigned below = (1u << (threadIdx.x & 31)) - 1;
        out[i] = __popc(same & below) | __popc(same) << 8 | (unsigned)__any_sync(here, keys[i] == 0) << 16;
    }
    int many = __syncthreads_count(i < n && keys[i] < 3);
    if (i < n) out[i] |= many << 20;
}
