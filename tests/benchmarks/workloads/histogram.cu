// How often each byte occurs: a histogram of each CTA in shared memory, which are then added in global memory.

extern "C" __global__ void histogram(unsigned n, const unsigned *in, unsigned *counts)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        unsigned word = in[i];
        for (unsigned shift = 0; shift < 32; shift += 8) atomicAdd(&local[word >> shift & 255], 1u);
    }
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
