/* y = a * x + y for n elements, on one core. */

#include <math.h>
#include <stdint.h>

void saxpy(uint32_t n, float a, const float *restrict x, float *restrict y)
{
    for (uint32_t i = 0; i < n; i++)
        y[i] = fmaf(x[i], a, y[i]);
}
