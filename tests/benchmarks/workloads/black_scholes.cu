// Prices of options by the formula of Black and Scholes; the normal distribution is approximated by a polynomial.

__device__ float below(float d)
{
    float k = 1.0f / fmaf(0.2316419f, fabsf(d), 1.0f);
    float p = fmaf(k, fmaf(k, fmaf(k, fmaf(k, 1.330274429f, -1.821255978f), 1.781477937f), -0.356563782f), 0.319381530f);
    float rest = 0.3989422804f * expf(-0.5f * d * d) * k * p;
    return d > 0 ? 1.0f - rest : rest;
}

extern "C" __global__ void black_scholes(
    unsigned n, float rate, float volatility, const float *prices, const float *strikes, const float *years, float *call, float *put)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = prices[i], x = strikes[i], t = years[i], root = volatility * sqrtf(t);
    float d1 = (logf(s / x) + fmaf(0.5f * volatility, volatility, rate) * t) / root, d2 = d1 - root;
    float discount = x * expf(-rate * t), first = below(d1), second = below(d2);
    call[i] = fmaf(s, first, -discount * second);
    put[i] = fmaf(discount, 1.0f - second, -s * (1.0f - first));
}
