#include <cuda_fp16.h>
__global__ void k(__half *x, __half2 *y, float *z)
{
    x[0] = __hadd(x[1], x[2]); y[0] = __hfma2(y[1], y[2], y[3]);
    z[0] = __half2float(x[3]); x[4] = __float2half_rn(z[1]);
    z[2] = __hlt(x[1], x[2]) ? 1.0f : 2.0f;
}
