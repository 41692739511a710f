// y = A x for a sparse matrix in compressed rows: a warp computes a row, and adds its lanes' sums by shuffles.

extern "C" __global__ void spmv_warp(
    unsigned rows, const unsigned *starts, const unsigned *columns, const float *values, const float *x, float *y)
{
    unsigned r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (r >= rows) return;
    float sum = 0;
    for (unsigned k = starts[r] + lane; k < starts[r + 1]; k += 32) sum = fmaf(values[k], x[columns[k]], sum);
    for (unsigned d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (lane == 0) y[r] = sum;
}
