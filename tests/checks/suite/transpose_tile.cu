// Transposes a matrix by tiles of 8x8. FAULT: a tile is read before it is complete.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[8][9];
    int x = threadIdx.x, y = threadIdx.y, n = gridDim.x * 8;
    tile[y][x] = in[(blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x]; //@ put
#ifndef FAULT
    __syncthreads();
#endif
    out[(blockIdx.x * 8 + y) * n + blockIdx.y * 8 + x] = tile[x][y]; //@ get
}
