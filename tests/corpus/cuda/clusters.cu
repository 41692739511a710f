#include <cooperative_groups.h>

namespace cg = cooperative_groups;

/* Bins spread over the CTAs of a cluster; all threads of the cluster count into all of them. */
extern "C" __global__ void spread_histogram(const unsigned *values, unsigned n, unsigned *out, unsigned bins_each)
{
    extern __shared__ unsigned bins[];
    cg::cluster_group cluster = cg::this_cluster();
    for (unsigned i = threadIdx.x; i < bins_each; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    unsigned first = blockIdx.x / cluster.num_blocks() * cluster.num_threads() + cluster.thread_rank();
    for (unsigned i = first; i < n; i += gridDim.x * blockDim.x) {
        unsigned bin = values[i];
        unsigned *there = cluster.map_shared_rank(bins, bin / bins_each);
        atomicAdd(there + bin % bins_each, 1u);
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < bins_each; i += blockDim.x)
        if (bins[i]) atomicAdd(out + cluster.block_rank() * bins_each + i, bins[i]);
}

/* The sum over a cluster of three dimensions, which every CTA forms by itself; the arrival and the wait are apart. */
extern "C" __global__ void __cluster_dims__(2, 1, 2) sum_of_cluster(const double *values, double *sums, unsigned *ranks)
{
    __shared__ double part[2];
    __shared__ unsigned from[4];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    double own = values[block * blockDim.x + threadIdx.x];
    if (threadIdx.x < 2) part[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&part[threadIdx.x & 1], own);
    cluster.barrier_arrive();
    dim3 index = cluster.block_index(), size = cluster.dim_blocks();
    unsigned rank = index.x + size.x * (index.y + size.y * index.z);
    cluster.barrier_wait();
    if (threadIdx.x < cluster.num_blocks()) {
        cluster.map_shared_rank(from, threadIdx.x)[rank] = 10 * rank + cluster.query_shared_rank(&from[rank]);
    }
    double total = 0;
    for (unsigned i = 0; i < cluster.num_blocks(); ++i) {
        const double *theirs = cluster.map_shared_rank(part, i);
        total += theirs[0] + theirs[1];
    }
    cluster.sync();
    if (threadIdx.x == 0) sums[block] = total;
    if (threadIdx.x < 4) ranks[4 * block + threadIdx.x] = from[threadIdx.x];
}

struct cell { short key; long long value; };

/* A queue in the first CTA: the others take places in it, and write into them. */
extern "C" __global__ void collect(const int *values, long long *out, unsigned *count, int limit)
{
    __shared__ cell queue[512];
    __shared__ unsigned length;
    cg::cluster_group cluster = cg::this_cluster();
    if (cluster.thread_rank() == 0) length = 0;
    cluster.sync();
    cell *first = cluster.map_shared_rank(queue, 0);
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (values[i] > limit) {
        unsigned at = atomicAdd(cluster.map_shared_rank(&length, 0), 1u);
        first[at].key = (short)cluster.block_rank();
        first[at].value = (long long)values[i] * values[i];
    }
    cluster.sync();
    if (cluster.block_rank() != 0) return;
    unsigned cluster_number = blockIdx.x / cluster.num_blocks();
    for (unsigned k = threadIdx.x; k < length; k += blockDim.x)
        out[cluster_number * 512 + k] = queue[k].value * 100 + queue[k].key;
    if (threadIdx.x == 0) count[cluster_number] = length;
}
