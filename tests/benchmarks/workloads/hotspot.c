#include <math.h>

static void step(unsigned n, const float *restrict power, const float *restrict from, float *restrict to)
{
    for (unsigned y = 0; y < n; y++) {
        const float *row = from + y * n, *above = y ? row - n : row, *below = y + 1 < n ? row + n : row;
        for (unsigned x = 0; x < n; x++) {
            float here = row[x], left = row[x ? x - 1 : 0], right = row[x + 1 < n ? x + 1 : x];
            float down = above[x] + below[x], across = left + right;
            float change = fmaf(-2.0f, here, down) * 0.125f;
            change = fmaf(fmaf(-2.0f, here, across), 0.0625f, change);
            change = fmaf(80.0f - here, 0.001f, change);
            to[y * n + x] = fmaf(0.5f, change + power[y * n + x], here);
        }
    }
}

void hotspot(unsigned n, unsigned steps, const float *power, float *from, float *to)
{
    for (unsigned s = 0; s < steps; s++) {
        step(n, power, s % 2 ? to : from, s % 2 ? from : to);
    }
}
