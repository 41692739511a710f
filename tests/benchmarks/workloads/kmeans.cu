// Clusters of points of 8 coordinates: each point finds its nearest centre, then a CTA for each centre averages the points in it.

#define D 8

extern "C" __global__ void kmeans_assign(unsigned n, unsigned k, const float *points, const float *centres, unsigned *nearest)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float best = INFINITY;
    unsigned index = 0;
    for (unsigned c = 0; c < k; c++) {
        float sum = 0;
        for (unsigned d = 0; d < D; d++) {
            float difference = points[d * n + i] - centres[c * D + d];
            sum = fmaf(difference, difference, sum);
        }
        if (sum < best) {
            best = sum;
            index = c;
        }
    }
    nearest[i] = index;
}

extern "C" __global__ void kmeans_average(unsigned n, const float *points, const unsigned *nearest, float *centres)
{
    __shared__ float sums[128][D];
    __shared__ unsigned counts[128];
    unsigned t = threadIdx.x, c = blockIdx.x, count = 0;
    float sum[D] = {0};
    for (unsigned i = t; i < n; i += 128)
        if (nearest[i] == c) {
            count++;
            for (unsigned d = 0; d < D; d++) sum[d] += points[d * n + i];
        }
    for (unsigned d = 0; d < D; d++) sums[t][d] = sum[d];
    counts[t] = count;
    for (unsigned half = 64; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half) {
            counts[t] += counts[t + half];
            for (unsigned d = 0; d < D; d++) sums[t][d] += sums[t + half][d];
        }
    }
    __syncthreads();
    if (t < D && counts[0]) centres[c * D + t] = sums[0][t] / (float)counts[0];
}
