extern __shared__ double tile[];
__global__ void reverse(double *x)
{
    __shared__ int count;
    unsigned i = threadIdx.x, n = blockDim.x;
    if (i == 0) count = 0;
    tile[i] = x[i];
    __syncthreads();
    atomicAdd(&count, 1);
    x[i] = tile[n - 1 - i] + count;
}
