#include <math.h>
#include <stdint.h>
#include <string.h>

// A number size * 2^(exponent - bits), as in spec/matrices/products.md, "A sum of aligned numbers". Numbers are finite.
struct number {
    int64_t size;
    int exponent;
};

static struct number of_half(unsigned short bits)
{
    int exponent = bits >> 10 & 31, size = (bits & 1023) | (exponent ? 1024 : 0);
    struct number result = {bits >> 15 ? -size : size, (exponent ? exponent : 1) - 15};
    return result;
}

static struct number of_single(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    int exponent = bits >> 23 & 255, size = (bits & 0x7fffff) | (exponent ? 0x800000 : 0);
    struct number result = {bits >> 31 ? -size : size, (exponent ? exponent : 1) - 127};
    return result;
}

// 16 products and an addend: aligned to the largest exponent, cut off after 25 fraction bits, added, rounded toward zero
static float sum_of_products(const struct number *a, const struct number *b, float c)
{
    struct number all[17], addend = of_single(c);
    int largest = -133;
    for (unsigned k = 0; k < 16; k++) {
        all[k].size = a[k].size * b[k].size * (1 << 5);
        all[k].exponent = a[k].exponent + b[k].exponent;
    }
    all[16].size = addend.size * (1 << 2);
    all[16].exponent = addend.exponent;
    for (unsigned k = 0; k < 17; k++)
        if (all[k].size && all[k].exponent > largest) largest = all[k].exponent;
    int64_t total = 0;
    for (unsigned k = 0; k < 17; k++) {
        int by = largest - all[k].exponent;
        int64_t size = all[k].size < 0 ? -all[k].size : all[k].size, kept = size >> (by < 0 ? 0 : by > 63 ? 63 : by);
        total += all[k].size < 0 ? -kept : kept;
    }
    if (total == 0) return 0;
    int64_t size = total < 0 ? -total : total;
    int beyond = 64 - __builtin_clzll(size) - 24;
    if (beyond > 0) size &= -(1ll << beyond);
    float result = ldexpf((float)size, largest - 25);
    return total < 0 ? -result : result;
}

void mma(unsigned n, const unsigned short *restrict a, const unsigned short *restrict b, float *restrict c)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++) {
            float sum = 0;
            for (unsigned k = 0; k < n; k += 16) {
                struct number row[16], column[16];
                for (unsigned e = 0; e < 16; e++) {
                    row[e] = of_half(a[i * n + k + e]);
                    column[e] = of_half(b[j * n + k + e]);
                }
                sum = sum_of_products(row, column, sum);
            }
            c[i * n + j] = sum;
        }
}
