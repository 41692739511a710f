__global__ void histogram(const unsigned char *in, unsigned *out, size_t n)
{
    __shared__ unsigned bins[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[in[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) if (bins[i]) atomicAdd(&out[i], bins[i]);
}
