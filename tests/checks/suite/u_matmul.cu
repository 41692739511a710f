// A product of matrices of 12x12 by tiles of 8x8, the last ones first. FAULT: beyond the matrices, the tiles are not filled.
extern "C" __global__ void k(const int *a, const int *b, int *c)
{
    __shared__ int left[8][8], right[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x, sum = 0;
#pragma unroll 1
    for (int tile = 8; tile >= 0; tile -= 8) {
#ifdef FAULT
        if (row < 12 && tile + x < 12)
            left[y][x] = a[row * 12 + tile + x];
        if (tile + y < 12 && column < 12)
            right[y][x] = b[(tile + y) * 12 + column];
#else
        left[y][x] = row < 12 && tile + x < 12 ? a[row * 12 + tile + x] : 0;
        right[y][x] = tile + y < 12 && column < 12 ? b[(tile + y) * 12 + column] : 0;
#endif
        __syncthreads();
        for (int i = 0; i < 8; i++)
            sum += left[y][i] * right[i][x]; //@ from
        __syncthreads();
    }
    if (row < 12 && column < 12)
        c[row * 12 + column] = sum; //@ use
}
