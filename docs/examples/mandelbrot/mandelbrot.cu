// Escape times of the Mandelbrot set, one pixel per thread. Neighbouring threads leave the loop after
// different numbers of iterations, so the loop diverges within a warp.
//
// The pixel (column, row) stands for the point c = (left + step * column, top + step * row).
// Its count is the number of steps z -> z * z + c, from z = 0, before |z| > 2; at most `limit`.
//
// The squares are written with __fmul_rn, which becomes mul.rn.f32: a product with an explicit rounding
// is never fused with a later addition, so that the PTX fixes every bit of the result.

extern "C" __global__ void mandelbrot(unsigned int width, unsigned int height, float left, float top,
                                      float step, unsigned int limit, unsigned int *counts)
{
    unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;

    float cx = left + step * (float)column;
    float cy = top + step * (float)row;
    float zx = 0.0f;
    float zy = 0.0f;
    unsigned int count = 0;

    while (count < limit) {
        float xx = __fmul_rn(zx, zx);
        float yy = __fmul_rn(zy, zy);
        if (xx + yy > 4.0f)
            break;
        zy = 2.0f * zx * zy + cy;
        zx = xx - yy + cx;
        count++;
    }
    counts[row * width + column] = count;
}
