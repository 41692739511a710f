// Sums and a histogram by clusters of four CTAs: each CTA sums a part of its row and counts in its part of the bins, of which the
// cluster's CTAs have a quarter each; the first CTA adds up the sums.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int CTAS = 4, THREADS = 64, WARPS = THREADS / 32, BINS = 64, PART = BINS / CTAS;

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__(THREADS)
distributed(const unsigned* x, unsigned* sums, unsigned* counts, int width) {
    __shared__ unsigned of_warps[WARPS], of_ctas[CTAS], bins[PART];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), row = blockIdx.x / CTAS;
    if (threadIdx.x < PART)
        bins[threadIdx.x] = 0;
    cluster.sync();
    unsigned sum = 0;
    for (int i = rank * THREADS + threadIdx.x; i < width; i += CTAS * THREADS) {
        const unsigned value = x[row * width + i], bin = value % BINS;
        sum += value;
        unsigned* far = cluster.map_shared_rank(bins, bin / PART);
        atomicAdd(&far[bin % PART], 1u);
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0)
        of_warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned total = 0;
        for (int warp = 0; warp < WARPS; warp++)
            total += of_warps[warp];
        cluster.map_shared_rank(of_ctas, 0)[rank] = total;
    }
    cluster.sync();
    if (rank == 0 && threadIdx.x == 0) {
        unsigned total = 0;
        for (int cta = 0; cta < CTAS; cta++)
            total += of_ctas[cta];
        sums[row] = total;
    }
    if (rank == 0) {
        const unsigned* far = cluster.map_shared_rank(bins, threadIdx.x / PART);
        counts[row * BINS + threadIdx.x] = far[threadIdx.x % PART];
    }
    cluster.sync();
}
