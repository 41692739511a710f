// Sorts 1024 keys a CTA in shared memory by a bitonic network.

#define N 1024

extern "C" __global__ void bitonic(unsigned count, unsigned *keys)
{
    __shared__ unsigned s[N];
    unsigned t = threadIdx.x, *part = keys + blockIdx.x * N;
    s[t] = part[t];
    s[t + N / 2] = part[t + N / 2];
    for (unsigned size = 2; size <= N; size *= 2)
        for (unsigned d = size / 2; d > 0; d /= 2) {
            __syncthreads();
            unsigned i = 2 * t - (t & (d - 1)), a = s[i], b = s[i + d];
            if ((a > b) == ((i & size) == 0)) {
                s[i] = b;
                s[i + d] = a;
            }
        }
    __syncthreads();
    part[t] = s[t];
    part[t + N / 2] = s[t + N / 2];
}
