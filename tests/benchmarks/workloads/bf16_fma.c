#include <stdint.h>
#include <string.h>

// the nearest number with eight significant bits; the numbers here are normal ones of bfloat16
static double rounded(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    bits = (bits + ((1ull << 44) - 1) + (bits >> 45 & 1)) & -(1ull << 45);
    memcpy(&x, &bits, 8);
    return x;
}

// the sum is exact in double precision: the product has 16 bits, and the addend is not far from it
static double fused(double a, double b, double c)
{
    return rounded(a * b + c);
}

static double wide(unsigned short v)
{
    uint32_t bits = (uint32_t)v << 16;
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

void bf16_fma(unsigned n, unsigned rounds, const unsigned short *restrict a, const unsigned short *restrict b, unsigned short *restrict x)
{
    for (unsigned i = 0; i < 2 * n; i++) {
        double factor = wide(a[i]), addend = wide(b[i]), v = wide(x[i]), w = addend;
        for (unsigned r = 0; r < rounds; r++) {
            v = fused(v, factor, addend);
            w = fused(w, factor, v);
        }
        float result = fused(v, factor, w);
        uint32_t bits;
        memcpy(&bits, &result, 4);
        x[i] = bits >> 16;
    }
}
