#include <cuda_bf16.h>
__global__ void k(__nv_bfloat16 *x, __nv_bfloat162 *y, float *z)
{
    x[0] = __float2bfloat16(z[0]); z[1] = __bfloat162float(x[1]);
    y[0] = __hmul2(y[1], y[2]);
}
