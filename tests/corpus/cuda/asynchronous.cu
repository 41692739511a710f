#include <cuda_pipeline.h>
__global__ void k(const int4 *x, int4 *y)
{
    __shared__ int4 s[64];
    __pipeline_memcpy_async(s + threadIdx.x, x + threadIdx.x, 16); __pipeline_commit(); __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}
