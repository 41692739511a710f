// A = L U without pivots, in blocks of 16 x 16: the block on the diagonal, its row and column, then the rest.

#define B 16

extern "C" __global__ void lud_diagonal(unsigned n, unsigned k, float *a)
{
    __shared__ float s[B][B];
    unsigned t = threadIdx.x;
    float *corner = a + k * B * n + k * B;
    for (unsigned i = 0; i < B; i++) s[i][t] = corner[i * n + t];
    __syncthreads();
    for (unsigned p = 0; p < B - 1; p++) {
        if (t > p) {
            s[t][p] = s[t][p] / s[p][p];
            for (unsigned j = p + 1; j < B; j++) s[t][j] = fmaf(-s[t][p], s[p][j], s[t][j]);
        }
        __syncthreads();
    }
    for (unsigned i = 0; i < B; i++) corner[i * n + t] = s[i][t];
}

// half of the threads have a column of a block beside the one on the diagonal, the others a row of one below
extern "C" __global__ void lud_perimeter(unsigned n, unsigned k, float *a)
{
    __shared__ float d[B][B];
    unsigned t = threadIdx.x, lane = t % B, other = (k + 1 + blockIdx.x) * B;
    if (t < B)
        for (unsigned i = 0; i < B; i++) d[i][t] = a[(k * B + i) * n + k * B + t];
    __syncthreads();
    float v[B];
    if (t < B) {
        for (unsigned i = 0; i < B; i++) v[i] = a[(k * B + i) * n + other + lane];
        for (unsigned p = 0; p < B; p++)
            for (unsigned i = p + 1; i < B; i++) v[i] = fmaf(-d[i][p], v[p], v[i]);
        for (unsigned i = 0; i < B; i++) a[(k * B + i) * n + other + lane] = v[i];
    } else {
        for (unsigned j = 0; j < B; j++) v[j] = a[(other + lane) * n + k * B + j];
        for (unsigned p = 0; p < B; p++) {
            v[p] = v[p] / d[p][p];
            for (unsigned j = p + 1; j < B; j++) v[j] = fmaf(-v[p], d[p][j], v[j]);
        }
        for (unsigned j = 0; j < B; j++) a[(other + lane) * n + k * B + j] = v[j];
    }
}

extern "C" __global__ void lud_internal(unsigned n, unsigned k, float *a)
{
    __shared__ float left[B][B], above[B][B];
    unsigned x = threadIdx.x, y = threadIdx.y;
    unsigned row = (k + 1 + blockIdx.y) * B + y, column = (k + 1 + blockIdx.x) * B + x;
    left[y][x] = a[row * n + k * B + x];
    above[y][x] = a[(k * B + y) * n + column];
    __syncthreads();
    float v = a[row * n + column];
    for (unsigned p = 0; p < B; p++) v = fmaf(-left[y][p], above[p][x], v);
    a[row * n + column] = v;
}
