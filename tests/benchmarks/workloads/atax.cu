// y = A' (A x) in double precision: a thread has a row of A, then a column.

extern "C" __global__ void atax_rows(unsigned n, const double *a, const double *x, double *t)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sum = 0;
    for (unsigned j = 0; j < n; j++) sum = fma(a[i * n + j], x[j], sum);
    t[i] = sum;
}

extern "C" __global__ void atax_columns(unsigned n, const double *a, const double *t, double *y)
{
    unsigned j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= n) return;
    double sum = 0;
    for (unsigned i = 0; i < n; i++) sum = fma(a[i * n + j], t[i], sum);
    y[j] = sum;
}
