#include <math.h>

void atax(unsigned n, const double *restrict a, const double *restrict x, double *restrict t, double *restrict y)
{
    for (unsigned i = 0; i < n; i++) {
        double sum = 0;
        for (unsigned j = 0; j < n; j++) sum = fma(a[i * n + j], x[j], sum);
        t[i] = sum;
    }
    for (unsigned j = 0; j < n; j++) y[j] = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++) y[j] = fma(a[i * n + j], t[i], y[j]);
}
