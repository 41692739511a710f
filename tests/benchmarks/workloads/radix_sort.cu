// Sorts 32-bit keys by four bits at a time. Ballots give a key's rank among the equal digits of its warp.

__device__ unsigned same_digit(unsigned digit)
{
    unsigned mask = 0xffffffffu;
    for (unsigned bit = 0; bit < 4; bit++) {
        unsigned votes = __ballot_sync(0xffffffffu, digit >> bit & 1);
        mask &= digit >> bit & 1 ? votes : ~votes;
    }
    return mask;
}

extern "C" __global__ void radix_count(unsigned shift, const unsigned *keys, unsigned *counts)
{
    __shared__ unsigned count[16];
    unsigned t = threadIdx.x;
    if (t < 16) count[t] = 0;
    __syncthreads();
    unsigned digit = keys[blockIdx.x * 256 + t] >> shift & 15, mask = same_digit(digit);
    if ((t & 31) == __ffs(mask) - 1) atomicAdd(&count[digit], __popc(mask));
    __syncthreads();
    if (t < 16) counts[t * gridDim.x + blockIdx.x] = count[t];
}

extern "C" __global__ void radix_offsets(unsigned blocks, unsigned *counts)
{
    __shared__ unsigned sums[256];
    unsigned t = threadIdx.x, each = (blocks * 16 + 255) / 256, end = min(t * each + each, blocks * 16), sum = 0;
    for (unsigned i = t * each; i < end; i++) sum += counts[i];
    sums[t] = sum;
    __syncthreads();
    for (unsigned d = 1; d < 256; d *= 2) {
        unsigned below = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += below;
        __syncthreads();
    }
    sum = t ? sums[t - 1] : 0;
    for (unsigned i = t * each; i < end; i++) {
        unsigned count = counts[i];
        counts[i] = sum;
        sum += count;
    }
}

extern "C" __global__ void radix_scatter(unsigned shift, const unsigned *keys, const unsigned *offsets, unsigned *out)
{
    __shared__ unsigned of_warp[8][16];
    unsigned t = threadIdx.x, warp = t >> 5, lane = t & 31;
    unsigned key = keys[blockIdx.x * 256 + t], digit = key >> shift & 15;
    if (lane < 16) of_warp[warp][lane] = 0;
    __syncwarp();
    unsigned mask = same_digit(digit), rank = __popc(mask & ((1u << lane) - 1));
    if (rank == 0) of_warp[warp][digit] = __popc(mask);
    __syncthreads();
    if (t < 16) {
        unsigned sum = offsets[t * gridDim.x + blockIdx.x];
        for (unsigned w = 0; w < 8; w++) {
            unsigned count = of_warp[w][t];
            of_warp[w][t] = sum;
            sum += count;
        }
    }
    __syncthreads();
    out[of_warp[warp][digit] + rank] = key;
}
