// C = A B by tiles of 64 x 64: tiles in shared memory, and 4 x 4 elements in the registers of each thread.

#define T 64
#define K 16

extern "C" __global__ void sgemm(unsigned n, const float *a, const float *b, float *c)
{
    __shared__ float left[K][T], right[K][T];
    unsigned t = threadIdx.x, tx = t % 16, ty = t / 16, row = blockIdx.y * T, column = blockIdx.x * T;
    float sum[4][4] = {0};
    for (unsigned k = 0; k < n; k += K) {
        for (unsigned e = t; e < T * K; e += 256) {
            left[e % K][e / K] = a[(row + e / K) * n + k + e % K];
            right[e / T][e % T] = b[(k + e / T) * n + column + e % T];
        }
        __syncthreads();
        for (unsigned p = 0; p < K; p++)
            for (unsigned i = 0; i < 4; i++)
                for (unsigned j = 0; j < 4; j++)
                    sum[i][j] = fmaf(left[p][ty * 4 + i], right[p][tx * 4 + j], sum[i][j]);
        __syncthreads();
    }
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}
