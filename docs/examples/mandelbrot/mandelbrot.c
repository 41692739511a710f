/* Escape times of the Mandelbrot set, on one core. */

#include <math.h>
#include <stddef.h>
#include <stdint.h>

void mandelbrot(uint32_t width, uint32_t height, float left, float top, float step, uint32_t limit,
                uint32_t *counts)
{
    for (uint32_t row = 0; row < height; row++) {
        float cy = fmaf((float)row, step, top);
        for (uint32_t column = 0; column < width; column++) {
            float cx = fmaf((float)column, step, left);
            float zx = 0.0f;
            float zy = 0.0f;
            uint32_t count = 0;
            while (count < limit) {
                float xx = zx * zx;
                float yy = zy * zy;
                if (xx + yy > 4.0f)
                    break;
                zy = fmaf(zx + zx, zy, cy);
                zx = cx + (xx - yy);
                count++;
            }
            counts[(size_t)row * width + column] = count;
        }
    }
}
