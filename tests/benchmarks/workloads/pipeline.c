#include <math.h>

#define TILE 512

void pipeline(unsigned blocks, unsigned tiles, const float *restrict in, float *restrict out)
{
    for (unsigned b = 0; b < blocks; b++) {
        float *restrict sum = out + b * TILE;
        for (unsigned i = 0; i < TILE; i++) sum[i] = 0;
        for (unsigned k = 0; k < tiles; k++) {
            const float *tile = in + (b * tiles + k) * TILE;
            for (unsigned i = 0; i < TILE; i++)
                for (unsigned s = 0; s < 4; s++) sum[i] = fmaf(sum[i], 0.75f, tile[(i + s * 37) % TILE]);
        }
    }
}
