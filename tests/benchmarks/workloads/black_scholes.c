#include <math.h>

static float below(float d)
{
    float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    float p = fmaf(k, fmaf(k, fmaf(k, fmaf(k, 1.330274429f, -1.821255978f), 1.781477937f), -0.356563782f), 0.319381530f);
    float rest = 0.3989422804f * expf(-0.5f * d * d) * k * p;
    return d > 0 ? 1.0f - rest : rest;
}

void black_scholes(
    unsigned n, float rate, float volatility, const float *restrict prices, const float *restrict strikes, const float *restrict years,
    float *restrict call, float *restrict put)
{
    for (unsigned i = 0; i < n; i++) {
        float s = prices[i], x = strikes[i], t = years[i], root = volatility * sqrtf(t);
        float d1 = (logf(s / x) + fmaf(0.5f * volatility, volatility, rate) * t) / root, d2 = d1 - root;
        float discount = x * expf(-rate * t), first = below(d1), second = below(d2);
        call[i] = fmaf(s, first, -discount * second);
        put[i] = fmaf(discount, 1.0f - second, -s * (1.0f - first));
    }
}
