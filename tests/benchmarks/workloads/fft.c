#include <math.h>
#include <string.h>

#define N 512

struct complex {
    float x, y;
};

void fft(unsigned count, const struct complex *restrict roots, const struct complex *restrict in, struct complex *restrict out)
{
    for (unsigned i = 0; i < count; i++) {
        struct complex s[2][N];
        unsigned from = 0;
        memcpy(s[0], in + i * N, sizeof s[0]);
        for (unsigned m = 1; m < N; m *= 2) {
            for (unsigned high = 0; high < N / 2; high += m)
                for (unsigned low = 0; low < m; low++) {
                    struct complex a = s[from][high + low], b = s[from][high + low + N / 2], w = roots[high];
                    float re = a.x - b.x, im = a.y - b.y;
                    struct complex sum = {a.x + b.x, a.y + b.y};
                    struct complex rest = {fmaf(re, w.x, -(im * w.y)), fmaf(re, w.y, im * w.x)};
                    s[1 - from][2 * high + low] = sum;
                    s[1 - from][2 * high + low + m] = rest;
                }
            from = 1 - from;
        }
        memcpy(out + i * N, s[from], sizeof s[0]);
    }
}
