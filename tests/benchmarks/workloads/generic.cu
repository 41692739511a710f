// Generic pointers: a function that is not inlined gets a buffer in shared, local or global memory, as the thread's data say.

__device__ __noinline__ unsigned churn(unsigned *buffer, unsigned stride, unsigned seed, unsigned rounds)
{
    unsigned sum = seed;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned *at = buffer + (sum >> 16 & 7) * stride;
        sum = sum * 1664525u + 1013904223u + *at;
        *at = sum ^ r;
    }
    return sum;
}

extern "C" __global__ void generic(unsigned n, unsigned rounds, const unsigned *in, unsigned *rows, unsigned *out)
{
    __shared__ unsigned shared[8 * 128];
    unsigned local[8], i = blockIdx.x * 128 + threadIdx.x, t = threadIdx.x;
    for (unsigned j = 0; j < 8; j++) shared[j * 128 + t] = local[j] = rows[j * n + i] = j;
    unsigned seed = in[i], kind = seed % 3;
    unsigned *buffer = kind == 0 ? shared + t : kind == 1 ? local : rows + i;
    out[i] = churn(buffer, kind == 0 ? 128 : kind == 1 ? 1 : n, seed, rounds);
    for (unsigned j = 0; j < 8; j++) out[i] += shared[j * 128 + t] ^ local[j];
}
