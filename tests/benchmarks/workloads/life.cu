// The game of life on a torus, a byte a cell: one generation.

extern "C" __global__ void life(unsigned n, const unsigned char *from, unsigned char *to)
{
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    unsigned left = x ? x - 1 : n - 1, right = x + 1 < n ? x + 1 : 0;
    unsigned up = (y ? y - 1 : n - 1) * n, here = y * n, down = (y + 1 < n ? y + 1 : 0) * n;
    unsigned count = from[up + left] + from[up + x] + from[up + right] + from[here + left] + from[here + right] +
                     from[down + left] + from[down + x] + from[down + right];
    to[here + x] = count == 3 || (count == 2 && from[here + x]);
}
