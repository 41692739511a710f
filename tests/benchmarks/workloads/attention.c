#include <math.h>

#define D 32

void attention(unsigned n, const float *restrict q, const float *restrict k, const float *restrict v, float *restrict out)
{
    for (unsigned i = 0; i < n; i++) {
        float query[D], sum[D], largest = -INFINITY, total = 0;
        for (unsigned d = 0; d < D; d++) {
            query[d] = q[i * D + d] * 0.25503487f;
            sum[d] = 0;
        }
        for (unsigned j = 0; j < n; j++) {
            float score = 0;
            for (unsigned d = 0; d < D; d++) score = fmaf(query[d], k[j * D + d], score);
            float next = score > largest ? score : largest, kept = exp2f(largest - next), weight = exp2f(score - next);
            largest = next;
            total = fmaf(total, kept, weight);
            for (unsigned d = 0; d < D; d++) sum[d] = fmaf(sum[d], kept, weight * v[j * D + d]);
        }
        for (unsigned d = 0; d < D; d++) out[i * D + d] = sum[d] / total;
    }
}
