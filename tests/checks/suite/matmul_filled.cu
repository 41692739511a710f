// A product of 16x16 matrices by tiles of 8x8. FAULT: tiles are used before they are filled.
extern "C" __global__ void k(const int *a, const int *b, int *c)
{
    __shared__ int left[8][8], right[8][8];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x, sum = 0;
    for (int tile = 0; tile < 16; tile += 8) {
        left[y][x] = a[row * 16 + tile + x]; //@ put
        right[y][x] = b[(tile + y) * 16 + column]; //@ put
#ifndef FAULT
        __syncthreads();
#endif
        for (int i = 0; i < 8; i++)
            sum += left[y][i] * right[i][x]; //@ get
        __syncthreads();
    }
    c[row * 16 + column] = sum;
}
