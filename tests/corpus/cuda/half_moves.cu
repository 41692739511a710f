#include <cuda_fp16.h>
__global__ void k(__half *x, float *z, int n)
{
    z[threadIdx.x] = __half2float(x[threadIdx.x]) * 2.0f + n;
    x[threadIdx.x] = __float2half(z[threadIdx.x + n]);
    x[n] = __ushort_as_half(0x3c00);
}
