template <int T> __global__ void multiply(const double *a, const double *b, double *c, int n)
{
    __shared__ double s[T][T], t[T][T];
    double sum = 0;
    int r = blockIdx.y * T + threadIdx.y, q = blockIdx.x * T + threadIdx.x;
    for (int m = 0; m < n; m += T) {
        s[threadIdx.y][threadIdx.x] = a[r * n + m + threadIdx.x]; t[threadIdx.y][threadIdx.x] = b[(m + threadIdx.y) * n + q];
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < T; k++) sum += s[threadIdx.y][k] * t[k][threadIdx.x];
        __syncthreads();
    }
    c[r * n + q] = sum;
}
template __global__ void multiply<8>(const double *, const double *, double *, int);
