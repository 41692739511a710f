#include <math.h>

// the inner loop runs along a row, so that it is compiled to vectors; each element is summed in the same order
void matmul(unsigned n, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j < n; j++) c[i * n + j] = 0;
        for (unsigned k = 0; k < n; k++)
            for (unsigned j = 0; j < n; j++) c[i * n + j] = fmaf(a[i * n + k], b[k * n + j], c[i * n + j]);
    }
}
