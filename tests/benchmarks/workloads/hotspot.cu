// Temperatures of a chip: a step of a five-point stencil, whose points are read through a tile in shared memory.

#define T 16

extern "C" __global__ void hotspot(unsigned n, const float *power, const float *from, float *to)
{
    __shared__ float tile[T + 2][T + 2];
    unsigned tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * T + tx, y = blockIdx.y * T + ty, last = n - 1;
    tile[ty + 1][tx + 1] = from[y * n + x];
    if (ty == 0) tile[0][tx + 1] = from[max(y - 1, 0) * n + x];
    if (ty == T - 1) tile[T + 1][tx + 1] = from[min(y + 1, last) * n + x];
    if (tx == 0) tile[ty + 1][0] = from[y * n + max(x - 1, 0)];
    if (tx == T - 1) tile[ty + 1][T + 1] = from[y * n + min(x + 1, last)];
    __syncthreads();
    float here = tile[ty + 1][tx + 1];
    float down = tile[ty][tx + 1] + tile[ty + 2][tx + 1], across = tile[ty + 1][tx] + tile[ty + 1][tx + 2];
    float change = fmaf(-2.0f, here, down) * 0.125f;
    change = fmaf(fmaf(-2.0f, here, across), 0.0625f, change);
    change = fmaf(80.0f - here, 0.001f, change);
    to[y * n + x] = fmaf(0.5f, change + power[y * n + x], here);
}
