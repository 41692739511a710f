__global__ void k(int *x, float *f)
{
    unsigned m = __activemask();
    int v = x[threadIdx.x];
    v += __shfl_up_sync(m, v, 1) + __shfl_xor_sync(m, v, 16) + __shfl_sync(m, v, 3, 8);
    f[threadIdx.x] = __shfl_down_sync(0xffffffff, f[threadIdx.x], 2);
    v ^= __ballot_sync(m, v > 3) ^ __any_sync(m, v == 2) ^ __all_sync(m, v == 5);
    int p; v += __match_any_sync(m, v) + __match_all_sync(m, v, &p) + p;
    __syncwarp();
    x[threadIdx.x] = v + __popc(m) + __ffs(v);
}
