#include <math.h>

static float scale_of(unsigned n, const float *image, float *sums)
{
    unsigned blocks = n * n / 256;
    for (unsigned b = 0; b < blocks; b++) {
        float s[256], squares[256];
        for (unsigned t = 0; t < 256; t++) {
            s[t] = image[b * 256 + t];
            squares[t] = s[t] * s[t];
        }
        for (unsigned half = 128; half > 0; half >>= 1)
            for (unsigned t = 0; t < half; t++) {
                s[t] += s[t + half];
                squares[t] += squares[t + half];
            }
        sums[2 * b] = s[0];
        sums[2 * b + 1] = squares[0];
    }
    float sum = 0, squares = 0;
    for (unsigned b = 0; b < blocks; b++) {
        sum += sums[2 * b];
        squares += sums[2 * b + 1];
    }
    float count = blocks * 256.0f, mean = sum / count, square = mean * mean;
    return (squares / count - square) / square;
}

static void differences(unsigned n, const float *v, unsigned x, unsigned y, float *d)
{
    float here = v[y * n + x];
    d[0] = v[(y ? y - 1 : 0) * n + x] - here;
    d[1] = v[(y + 1 < n ? y + 1 : y) * n + x] - here;
    d[2] = v[y * n + (x ? x - 1 : 0)] - here;
    d[3] = v[y * n + (x + 1 < n ? x + 1 : x)] - here;
}

static void coefficients(unsigned n, const float *restrict image, float q0, float *restrict c)
{
    for (unsigned y = 0; y < n; y++)
        for (unsigned x = 0; x < n; x++) {
            float d[4], here = image[y * n + x];
            differences(n, image, x, y, d);
            float gradient = fmaf(d[3], d[3], fmaf(d[2], d[2], fmaf(d[1], d[1], d[0] * d[0]))) / (here * here);
            float l = (d[0] + d[1] + d[2] + d[3]) / here, bottom = fmaf(0.25f, l, 1.0f);
            float q = fmaf(-0.0625f, l * l, 0.5f * gradient) / (bottom * bottom);
            float k = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
            k = k > 0.0f ? k : 0.0f;
            c[y * n + x] = k < 1.0f ? k : 1.0f;
        }
}

static void step(unsigned n, float rate, const float *restrict c, const float *restrict from, float *restrict to)
{
    for (unsigned y = 0; y < n; y++)
        for (unsigned x = 0; x < n; x++) {
            float d[4], here = c[y * n + x];
            differences(n, from, x, y, d);
            float sum = fmaf(here, d[0], fmaf(here, d[2], 0.0f));
            sum = fmaf(c[(y + 1 < n ? y + 1 : y) * n + x], d[1], sum);
            sum = fmaf(c[y * n + (x + 1 < n ? x + 1 : x)], d[3], sum);
            to[y * n + x] = fmaf(rate, sum, from[y * n + x]);
        }
}

void srad(unsigned n, unsigned steps, float rate, float *image, float *other, float *c, float *sums, float *scale)
{
    for (unsigned s = 0; s < steps; s++) {
        float *from = s % 2 ? other : image, *to = s % 2 ? image : other;
        *scale = scale_of(n, from, sums);
        coefficients(n, from, *scale, c);
        step(n, rate, c, from, to);
    }
}
