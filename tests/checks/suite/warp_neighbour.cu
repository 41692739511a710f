// Each warp has a row of the tile. FAULT: it reads the row of the next warp, and waits for its own lanes.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[2][32];
    int t = threadIdx.x % 32, w = threadIdx.x / 32;
    tile[w][t] = in[threadIdx.x]; //@ put
    __syncwarp();
#ifdef FAULT
    out[threadIdx.x] = tile[w ^ 1][31 - t]; //@ get
#else
    out[threadIdx.x] = tile[w][31 - t];
#endif
}
