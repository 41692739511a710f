// A loop of fused multiply-adds of pairs of bfloat16 numbers.

#include <cuda_bf16.h>

extern "C" __global__ void bf16_fma(unsigned n, unsigned rounds, const __nv_bfloat162 *a, const __nv_bfloat162 *b, __nv_bfloat162 *x)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    __nv_bfloat162 factor = a[i], addend = b[i], v = x[i], w = addend;
    for (unsigned r = 0; r < rounds; r++) {
        v = __hfma2(v, factor, addend);
        w = __hfma2(w, factor, v);
    }
    x[i] = __hfma2(v, factor, w);
}
