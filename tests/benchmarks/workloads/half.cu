// Arithmetic in half precision: a chaotic map of pairs, with sums, products, fused multiply-adds, a maximum and a comparison.

#include <cuda_fp16.h>

extern "C" __global__ void half_map(unsigned n, unsigned rounds, const __half2 *x, __half2 *sums, unsigned *counts)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __half2 v = x[i], sum = __float2half2_rn(0.0f), unit = __float2half2_rn(1.0f), rate = __float2half2_rn(3.75f);
    __half2 half = __float2half2_rn(0.5f), least = __float2half2_rn(0.0625f);
    unsigned count = 0;
    for (unsigned r = 0; r < rounds; r++) {
        v = __hmax2(__hmul2(__hmul2(rate, v), __hsub2(unit, v)), least);
        sum = __hfma2(sum, half, v);
        count += __hgt(__low2half(v), __high2half(v));
        count += __heq(__low2half(sum), __high2half(sum)) ? 65536 : 0;
    }
    sums[i] = __hadd2(sum, v);
    counts[i] = count;
}
