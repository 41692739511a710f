#include <math.h>
#include <string.h>

#define D 8

static void assign(unsigned n, unsigned k, const float *restrict points, const float *restrict centres, unsigned *restrict nearest)
{
    for (unsigned i = 0; i < n; i++) {
        float best = INFINITY;
        unsigned index = 0;
        for (unsigned c = 0; c < k; c++) {
            float sum = 0;
            for (unsigned d = 0; d < D; d++) {
                float difference = points[d * n + i] - centres[c * D + d];
                sum = fmaf(difference, difference, sum);
            }
            if (sum < best) {
                best = sum;
                index = c;
            }
        }
        nearest[i] = index;
    }
}

static void average(unsigned n, unsigned k, const float *restrict points, const unsigned *restrict nearest, float *restrict centres)
{
    static float sums[64][128][D];
    static unsigned counts[64][128];
    memset(sums, 0, sizeof sums);
    memset(counts, 0, sizeof counts);
    for (unsigned i = 0; i < n; i++) {
        counts[nearest[i]][i % 128]++;
        for (unsigned d = 0; d < D; d++) sums[nearest[i]][i % 128][d] += points[d * n + i];
    }
    for (unsigned c = 0; c < k; c++) {
        for (unsigned half = 64; half > 0; half >>= 1)
            for (unsigned t = 0; t < half; t++) {
                counts[c][t] += counts[c][t + half];
                for (unsigned d = 0; d < D; d++) sums[c][t][d] += sums[c][t + half][d];
            }
        for (unsigned d = 0; d < D; d++)
            if (counts[c][0]) centres[c * D + d] = sums[c][0][d] / (float)counts[c][0];
    }
}

void kmeans(unsigned n, unsigned k, unsigned rounds, const float *points, float *centres, unsigned *nearest)
{
    for (unsigned r = 0; r < rounds; r++) {
        assign(n, k, points, centres, nearest);
        average(n, k, points, nearest, centres);
    }
}
