/* C = A * B for row-major matrices, on one core: A is m x k, B is k x n, C is m x n. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define TILE 16

void matmul(uint32_t m, uint32_t n, uint32_t k, const float *restrict a, const float *restrict b,
            float *restrict c)
{
    for (size_t row = 0; row < m; row++) {
        float *sums = c + row * n;
        for (size_t column = 0; column < n; column++)
            sums[column] = 0.0f;
        /* Each element adds up its products in the order of j, as a thread of the kernel does. */
        for (size_t j = 0; j < k; j++) {
            float factor = a[row * k + j];
            const float *b_row = b + j * n;
            for (size_t column = 0; column < n; column++)
                sums[column] = fmaf(factor, b_row[column], sums[column]);
        }
        /* The kernel pads the last tile with products of zeros. Adding one or more of them changes
           nothing but a sum of -0, which becomes +0. */
        if (k % TILE != 0)
            for (size_t column = 0; column < n; column++)
                sums[column] += 0.0f;
    }
}
