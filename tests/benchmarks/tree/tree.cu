// Sums of 256 integers each: one element a thread, and a tree in shared memory with a barrier at every level.

extern "C" __global__ void tree(const int *in, int *out)
{
    __shared__ int part[256];
    unsigned int t = threadIdx.x;
    part[t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (unsigned int half = 128; half > 0; half >>= 1) {
        if (t < half) part[t] += part[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}
