/* Sums of 256 integers each, by a tree as the kernel has it, on one core. */

#include <stdint.h>

void tree(uint32_t blocks, const int32_t *restrict in, int32_t *restrict out)
{
    for (uint32_t b = 0; b < blocks; b++) {
        int32_t part[256];
        for (int t = 0; t < 256; t++)
            part[t] = in[b * 256 + t];
        for (int half = 128; half > 0; half >>= 1)
            for (int t = 0; t < half; t++)
                part[t] = (int32_t)((uint32_t)part[t] + (uint32_t)part[t + half]);
        out[b] = part[0];
    }
}
