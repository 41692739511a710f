// Fourier transforms of 512 complex numbers each, in shared memory: nine steps between two arrays, with the roots from memory.

#define N 512

extern "C" __global__ void fft(unsigned count, const float2 *roots, const float2 *in, float2 *out)
{
    __shared__ float2 s[2][N];
    unsigned t = threadIdx.x, first = blockIdx.x * N;
    s[0][t] = in[first + t];
    s[0][t + N / 2] = in[first + t + N / 2];
    unsigned from = 0;
    for (unsigned m = 1; m < N; m *= 2) {
        __syncthreads();
        unsigned low = t & (m - 1), high = t - low;
        float2 a = s[from][t], b = s[from][t + N / 2], w = roots[high];
        float re = a.x - b.x, im = a.y - b.y;
        s[1 - from][2 * high + low] = make_float2(a.x + b.x, a.y + b.y);
        s[1 - from][2 * high + low + m] = make_float2(fmaf(re, w.x, -__fmul_rn(im, w.y)), fmaf(re, w.y, __fmul_rn(im, w.x)));
        from = 1 - from;
    }
    __syncthreads();
    out[first + t] = s[from][t];
    out[first + t + N / 2] = s[from][t + N / 2];
}
