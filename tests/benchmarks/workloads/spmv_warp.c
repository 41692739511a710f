#include <math.h>

void spmv_warp(
    unsigned rows, const unsigned *restrict starts, const unsigned *restrict columns, const float *restrict values,
    const float *restrict x, float *restrict y)
{
    for (unsigned r = 0; r < rows; r++) {
        float sums[32] = {0};
        unsigned first = starts[r], end = starts[r + 1];
        for (unsigned k = first; k < end; k++) {
            unsigned lane = (k - first) & 31;
            sums[lane] = fmaf(values[k], x[columns[k]], sums[lane]);
        }
        for (unsigned d = 16; d > 0; d >>= 1)
            for (unsigned l = 0; l < d; l++) sums[l] += sums[l + d];
        y[r] = sums[0];
    }
}
