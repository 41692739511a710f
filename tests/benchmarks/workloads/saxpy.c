#include <math.h>

void saxpy(unsigned n, float a, const float *x, float *y)
{
    for (unsigned i = 0; i < n; i++) y[i] = fmaf(a, x[i], y[i]);
}
