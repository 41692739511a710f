// Diffusion that reduces the speckle of an image: sums over the image, coefficients of diffusion, then a step with them.

extern "C" __global__ void srad_sums(unsigned n, const float *image, float *sums)
{
    __shared__ float s[256], squares[256];
    unsigned t = threadIdx.x;
    float v = image[blockIdx.x * 256 + t];
    s[t] = v;
    squares[t] = v * v;
    for (unsigned half = 128; half > 0; half >>= 1) {
        __syncthreads();
        if (t < half) {
            s[t] += s[t + half];
            squares[t] += squares[t + half];
        }
    }
    if (t == 0) {
        sums[2 * blockIdx.x] = s[0];
        sums[2 * blockIdx.x + 1] = squares[0];
    }
}

extern "C" __global__ void srad_scale(unsigned blocks, const float *sums, float *scale)
{
    float sum = 0, squares = 0;
    for (unsigned b = 0; b < blocks; b++) {
        sum += sums[2 * b];
        squares += sums[2 * b + 1];
    }
    float count = blocks * 256.0f, mean = sum / count, square = __fmul_rn(mean, mean);
    *scale = (squares / count - square) / square;
}

__device__ void differences(unsigned n, const float *v, int x, int y, float *d)
{
    int last = n - 1;
    float here = v[y * n + x];
    d[0] = v[max(y - 1, 0) * n + x] - here;
    d[1] = v[min(y + 1, last) * n + x] - here;
    d[2] = v[y * n + max(x - 1, 0)] - here;
    d[3] = v[y * n + min(x + 1, last)] - here;
}

extern "C" __global__ void srad_coefficients(unsigned n, const float *image, const float *scale, float *c)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float d[4], here = image[y * n + x], q0 = *scale;
    differences(n, image, x, y, d);
    float gradient = fmaf(d[3], d[3], fmaf(d[2], d[2], fmaf(d[1], d[1], __fmul_rn(d[0], d[0])))) / __fmul_rn(here, here);
    float l = (d[0] + d[1] + d[2] + d[3]) / here, bottom = fmaf(0.25f, l, 1.0f);
    float q = fmaf(-0.0625f, __fmul_rn(l, l), 0.5f * gradient) / __fmul_rn(bottom, bottom);
    float k = 1.0f / (1.0f + (q - q0) / __fmul_rn(q0, 1.0f + q0));
    c[y * n + x] = fminf(fmaxf(k, 0.0f), 1.0f);
}

extern "C" __global__ void srad_step(unsigned n, float rate, const float *c, const float *from, float *to)
{
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, last = n - 1;
    float d[4], here = c[y * n + x];
    differences(n, from, x, y, d);
    float sum = fmaf(here, d[0], fmaf(here, d[2], 0.0f));
    sum = fmaf(c[min(y + 1, last) * n + x], d[1], sum);
    sum = fmaf(c[y * n + min(x + 1, last)], d[3], sum);
    to[y * n + x] = fmaf(rate, sum, from[y * n + x]);
}
