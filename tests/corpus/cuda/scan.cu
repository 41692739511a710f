__global__ void scan(unsigned *x)
{
    __shared__ unsigned sums[32];
    unsigned v = x[threadIdx.x], lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    for (int d = 1; d < 32; d *= 2) { unsigned o = __shfl_up_sync(~0u, v, d); if (lane >= d) v += o; }
    if (lane == 31) sums[w] = v;
    __syncthreads();
    for (unsigned i = 0; i < w; i++) v += sums[i];
    x[threadIdx.x] = v;
}
