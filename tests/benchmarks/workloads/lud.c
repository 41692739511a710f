#include <math.h>

// without blocks: each element has the same products subtracted, in the same order
void lud(unsigned n, float *a)
{
    for (unsigned p = 0; p < n; p++)
        for (unsigned i = p + 1; i < n; i++) {
            float l = a[i * n + p] = a[i * n + p] / a[p * n + p];
            float *restrict row = a + i * n;
            const float *restrict above = a + p * n;
            for (unsigned j = p + 1; j < n; j++) row[j] = fmaf(-l, above[j], row[j]);
        }
}
