// Global alignment of two sequences: blocks of 16 x 16 scores along a diagonal, and diagonals within each block.

extern "C" __global__ void nw(unsigned n, int penalty, int diagonal, int first, const int *similar, int *score)
{
    __shared__ int s[17][17];
    unsigned t = threadIdx.x, width = n + 1;
    unsigned column = first + blockIdx.x, row = diagonal - column;
    unsigned top = row * 16 * width + column * 16;
    s[t + 1][0] = score[top + (t + 1) * width];
    s[0][t + 1] = score[top + t + 1];
    if (t == 0) s[0][0] = score[top];
    __syncthreads();
    for (int d = 0; d < 31; d++) {
        int y = d - (int)t, x = t;
        if (y >= 0 && y < 16) {
            int along = s[y][x] + similar[(row * 16 + y) * n + column * 16 + x];
            int gap = max(s[y][x + 1], s[y + 1][x]) - penalty;
            s[y + 1][x + 1] = max(along, gap);
        }
        __syncthreads();
    }
    for (unsigned y = 0; y < 16; y++) score[top + (y + 1) * width + t + 1] = s[y + 1][t + 1];
}
