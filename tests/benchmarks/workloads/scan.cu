// Exclusive prefix sums: an up-sweep and a down-sweep over 512 elements in shared memory, then over the sums of the blocks.

__device__ void sweep(unsigned *s, unsigned *total)
{
    unsigned t = threadIdx.x, offset = 1;
    for (unsigned d = 256; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) {
        *total = s[511];
        s[511] = 0;
    }
    for (unsigned d = 1; d < 512; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            unsigned low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1, kept = s[low];
            s[low] = s[high];
            s[high] += kept;
        }
    }
    __syncthreads();
}

extern "C" __global__ void scan(const unsigned *in, unsigned *out, unsigned *totals)
{
    __shared__ unsigned s[512];
    unsigned t = threadIdx.x, first = blockIdx.x * 512;
    s[2 * t] = in[first + 2 * t];
    s[2 * t + 1] = in[first + 2 * t + 1];
    sweep(s, totals + blockIdx.x);
    out[first + 2 * t] = s[2 * t];
    out[first + 2 * t + 1] = s[2 * t + 1];
}

extern "C" __global__ void add_totals(unsigned *out, const unsigned *before)
{
    out[blockIdx.x * 512 + threadIdx.x] += before[blockIdx.x];
    out[blockIdx.x * 512 + threadIdx.x + 256] += before[blockIdx.x];
}
