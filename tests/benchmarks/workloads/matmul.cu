// C = A B for square matrices: a thread computes one element from global memory.

extern "C" __global__ void matmul(unsigned n, const float *a, const float *b, float *c)
{
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float sum = 0;
    for (unsigned k = 0; k < n; k++) sum = fmaf(a[i * n + k], b[k * n + j], sum);
    c[i * n + j] = sum;
}
