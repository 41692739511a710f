#include <cuda_fp8.h>
#include <cuda_fp6.h>
#include <cuda_fp4.h>
__global__ void k(__nv_fp8_e4m3 *x, __nv_fp8_e5m2 *y, float2 *z, __half2 *h, __nv_bfloat162 *b, __nv_fp8x4_e4m3 *w, __nv_fp6_e2m3 *s, __nv_fp4x2_e2m1 *f, __nv_fp8_e8m0 *p)
{
    x[0] = __nv_fp8_e4m3(z[0].x); y[0] = __nv_fp8_e5m2(z[0].y); z[1].x = float(x[1]); z[1].y = float(y[1]);
    *(__nv_fp8x2_e4m3 *)(x + 2) = __nv_fp8x2_e4m3(z[2]); *(__nv_fp8x2_e5m2 *)(y + 2) = __nv_fp8x2_e5m2(h[2]);
    h[0] = __half2(*(__nv_fp8x2_e4m3 *)(x + 4)); w[0] = __nv_fp8x4_e4m3(make_float4(z[0].x, z[1].x, z[2].x, z[3].x)); x[8] = __nv_fp8_e4m3(b[0].x);
    s[0] = __nv_fp6_e2m3(z[4].x); f[0] = __nv_fp4x2_e2m1(z[5]); p[0] = __nv_fp8_e8m0(z[6].x); z[7].x = float(s[1]); z[7].y = float(p[1]);
}
