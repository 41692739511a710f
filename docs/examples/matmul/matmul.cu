// C = A * B for row-major matrices: A is m x k, B is k x n, C is m x n.
// Each block of 16 x 16 threads computes one 16 x 16 tile of C. It walks along k in steps of one
// tile, and each step stages a tile of A and a tile of B in shared memory. Elements outside the
// matrices are staged as zeros, so m, n and k need not be multiples of the tile size.

#define TILE 16

extern "C" __global__ void matmul(unsigned int m, unsigned int n, unsigned int k,
                                  const float *a, const float *b, float *c)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    unsigned int tx = threadIdx.x;
    unsigned int ty = threadIdx.y;
    unsigned int row = blockIdx.y * TILE + ty;
    unsigned int column = blockIdx.x * TILE + tx;
    float sum = 0.0f;

    for (unsigned int start = 0; start < k; start += TILE) {
        unsigned int ka = start + tx;  // the column of A that this thread loads
        unsigned int kb = start + ty;  // the row of B that this thread loads
        tile_a[ty][tx] = (row < m && ka < k) ? a[row * k + ka] : 0.0f;
        tile_b[ty][tx] = (kb < k && column < n) ? b[kb * n + column] : 0.0f;
        __syncthreads();  // both tiles are complete

        for (unsigned int j = 0; j < TILE; j++)
            sum += tile_a[ty][j] * tile_b[j][tx];
        __syncthreads();  // all threads are done with both tiles
    }

    if (row < m && column < n)
        c[row * n + column] = sum;
}
