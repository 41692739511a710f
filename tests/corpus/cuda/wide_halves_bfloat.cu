#include <cuda_bf16.h>
typedef __nv_bfloat16 B; typedef __nv_bfloat162 B2;
__global__ void k(B *x, B2 *y, float *z, int *n, unsigned short *u, unsigned int *m)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
    B a = x[1], b = x[2], c = x[3]; B2 p = y[1], q = y[2], r = y[3];
    x[0] = __hadd(a, b); x[4] = __hsub(a, b); x[5] = __hmul(a, b); x[6] = __hfma(a, b, c); x[7] = __hneg(a); x[8] = __habs(b);
    x[9] = __hadd_sat(a, b); x[10] = __hmul_sat(a, c); x[11] = __hfma_sat(a, b, c); x[12] = __hmin(a, b); x[13] = __hmax(a, b);
    x[14] = hexp2(a); x[15] = hexp(a); x[16] = hlog(a); x[17] = hsin(a); x[18] = hcos(a); x[19] = hsqrt(a); x[20] = hrsqrt(a); x[21] = hrcp(a);
    x[22] = htrunc(a); x[23] = hceil(a); x[24] = hfloor(a); x[25] = hrint(a); x[26] = a / b;
    y[0] = __hadd2(p, q); y[4] = __hsub2(p, q); y[5] = __hmul2(p, q); y[6] = __hfma2(p, q, r); y[7] = __hneg2(p); y[8] = __habs2(q);
    y[12] = __hmin2(p, q); y[13] = __hmax2(p, q); y[14] = h2exp2(p); y[15] = h2exp(p); y[16] = h2log(p); y[17] = h2sin(p); y[23] = __h2div(p, q);
    y[24] = __heq2(p, q); y[25] = __hltu2(p, q); y[26] = __hisnan2(p); y[27] = __floats2bfloat162_rn(z[0], z[1]); y[9] = __hadd2_sat(p, q);
    n[0] = __heq(a, b) + 2 * __hltu(a, b) + 4 * __hgeu(b, c) + 8 * __hisnan(a) + 32 * __hbeq2(p, q) + 64 * __hbltu2(p, q);
    n[1] = __bfloat162int_rz(a); n[2] = __bfloat162int_rn(b); n[3] = __bfloat162uint_rd(c); n[4] = (int)__bfloat162ll_ru(a); n[5] = __bfloat162short_rn(a); n[6] = __bfloat162uchar_rz(a); n[7] = __bfloat162char_rz(b);
    x[33] = __int2bfloat16_rn(n[8]); x[34] = __uint2bfloat16_rz(n[9]); x[35] = __ll2bfloat16_rn(n[10]); x[36] = __ushort2bfloat16_rn(u[0]); x[37] = __short2bfloat16_rd(u[1]); x[38] = __double2bfloat16(z[5]);
    x[39] = __float2bfloat16_rd(z[2]); x[40] = __float2bfloat16_rz(z[3]); z[6] = __bfloat162float(a); z[7] = __low2float(p) + __high2float(q);
    m[0] = __heq2_mask(p, q); m[1] = __hgtu2_mask(p, q); x[41] = __shfl_xor_sync(~0u, a, 1); x[42] = __ldg(&x[43]);
    atomicAdd(&x[50], a); atomicAdd(&y[50], p);
    x[44] = __hmin_nan(a, b); x[45] = __hmax_nan(a, b); x[46] = __hfma_relu(a, b, c); y[35] = __hmin2_nan(p, q); y[36] = __hfma2_relu(p, q, r);
    x[47] = htanh_approx(a); y[37] = h2tanh_approx(p); x[48] = htanh(a);
#endif
}
