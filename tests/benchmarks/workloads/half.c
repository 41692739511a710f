#include <math.h>
#include <stdint.h>
#include <string.h>

// the nearest number of half precision
static double rounded(double x)
{
    uint64_t bits;
    double least = 0x1.8p28, small = copysign((x + least) - least, x);
    memcpy(&bits, &x, 8);
    bits = (bits + ((1ull << 41) - 1) + (bits >> 42 & 1)) & -(1ull << 42);
    double normal;
    memcpy(&normal, &bits, 8);
    return fabs(x) < 0x1p-14 ? small : normal;
}

void half(unsigned n, unsigned rounds, const _Float16 *restrict x, _Float16 *restrict sums, unsigned *restrict counts)
{
    for (unsigned i = 0; i < n; i++) {
        double v[2] = {(float)x[2 * i], (float)x[2 * i + 1]}, sum[2] = {0, 0};
        unsigned count = 0;
        for (unsigned r = 0; r < rounds; r++) {
            for (unsigned h = 0; h < 2; h++) {
                double next = rounded(rounded(3.75 * v[h]) * rounded(1 - v[h]));
                v[h] = next > 0.0625 ? next : 0.0625;
                sum[h] = rounded(sum[h] * 0.5 + v[h]);
            }
            count += v[0] > v[1];
            count += sum[0] == sum[1] ? 65536 : 0;
        }
        for (unsigned h = 0; h < 2; h++) sums[2 * i + h] = (_Float16)(float)rounded(sum[h] + v[h]);
        counts[i] = count;
    }
}
