// Escape times: the threads of a warp leave a loop after different numbers of iterations.

extern "C" __global__ void mandelbrot(unsigned n, unsigned limit, unsigned *out)
{
    unsigned i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || j >= n) return;
    float cx = fmaf((float)j, 3.0f / n, -2.0f), cy = fmaf((float)i, 3.0f / n, -1.5f), x = 0, y = 0;
    unsigned count = 0;
    while (count < limit && fmaf(x, x, __fmul_rn(y, y)) <= 4.0f) {
        float next = fmaf(x, x, fmaf(-y, y, cx));
        y = fmaf(x + x, y, cy);
        x = next;
        count++;
    }
    out[i * n + j] = count;
}
