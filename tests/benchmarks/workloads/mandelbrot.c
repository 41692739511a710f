#include <math.h>

void mandelbrot(unsigned n, unsigned limit, unsigned *out)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < n; j++) {
            float cx = fmaf((float)j, 3.0f / n, -2.0f), cy = fmaf((float)i, 3.0f / n, -1.5f), x = 0, y = 0;
            unsigned count = 0;
            while (count < limit && fmaf(x, x, y * y) <= 4.0f) {
                float next = fmaf(x, x, fmaf(-y, y, cx));
                y = fmaf(x + x, y, cy);
                x = next;
                count++;
            }
            out[i * n + j] = count;
        }
}
