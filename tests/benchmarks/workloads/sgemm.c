#include <math.h>
#include <string.h>

void sgemm(unsigned n, const float *restrict a, const float *restrict b, float *restrict c)
{
    for (unsigned row = 0; row < n; row += 4)
        for (unsigned column = 0; column < n; column += 16) {
            float sum[4][16];
            memset(sum, 0, sizeof sum);
            for (unsigned k = 0; k < n; k++)
                for (unsigned i = 0; i < 4; i++)
                    for (unsigned j = 0; j < 16; j++) sum[i][j] = fmaf(a[(row + i) * n + k], b[k * n + column + j], sum[i][j]);
            for (unsigned i = 0; i < 4; i++) memcpy(c + (row + i) * n + column, sum[i], sizeof sum[i]);
        }
}
