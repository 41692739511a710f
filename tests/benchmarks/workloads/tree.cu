// Sums of 256 floats each: a tree in shared memory, with a barrier at every level.

extern "C" __global__ void tree(unsigned blocks, const float *in, float *out)
{
    __shared__ float part[256];
    unsigned t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
