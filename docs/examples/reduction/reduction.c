/* Partial sums of n integers and n floating-point numbers, on one core. The order of the additions is
   that of a grid of `blocks` blocks of `threads` threads; threads is a power of two, 256 at most. */

#include <stdint.h>

#define MAX_THREADS 256

void reduction(uint32_t blocks, uint32_t threads, uint32_t n, const uint32_t *restrict u,
               const float *restrict x, uint32_t *restrict u_sums, float *restrict x_sums)
{
    uint64_t stride = (uint64_t)blocks * threads;

    for (uint32_t block = 0; block < blocks; block++) {
        uint32_t u_part[MAX_THREADS] = {0};
        float x_part[MAX_THREADS] = {0.0f};

        for (uint64_t base = (uint64_t)block * threads; base < n; base += stride) {
            uint32_t count = n - base < threads ? (uint32_t)(n - base) : threads;
            for (uint32_t t = 0; t < count; t++) {
                u_part[t] += u[base + t];
                x_part[t] += x[base + t];
            }
        }

        for (uint32_t half = threads / 2; half > 0; half /= 2) {
            for (uint32_t t = 0; t < half; t++) {
                u_part[t] += u_part[t + half];
                x_part[t] += x_part[t + half];
            }
        }

        u_sums[block] = u_part[0];
        x_sums[block] = x_part[0];
    }
}
