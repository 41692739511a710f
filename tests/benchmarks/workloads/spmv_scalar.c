#include <math.h>

void spmv_scalar(
    unsigned rows, const unsigned *restrict starts, const unsigned *restrict columns, const float *restrict values,
    const float *restrict x, float *restrict y)
{
    for (unsigned r = 0; r < rows; r++) {
        float sum = 0;
        for (unsigned k = starts[r]; k < starts[r + 1]; k++) sum = fmaf(values[k], x[columns[k]], sum);
        y[r] = sum;
    }
}
