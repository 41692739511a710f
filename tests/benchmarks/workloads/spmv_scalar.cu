// y = A x for a sparse matrix in compressed rows: a thread computes a row.

extern "C" __global__ void spmv_scalar(
    unsigned rows, const unsigned *starts, const unsigned *columns, const float *values, const float *x, float *y)
{
    unsigned r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (unsigned k = starts[r]; k < starts[r + 1]; k++) sum = fmaf(values[k], x[columns[k]], sum);
    y[r] = sum;
}
