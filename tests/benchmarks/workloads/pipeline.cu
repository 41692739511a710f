// Tiles that are copied to shared memory by cp.async while the one before is used: two buffers, and waits for groups.

#define TILE 512

__device__ void copy_tile(const float *from, float *to)
{
    unsigned address = (unsigned)__cvta_generic_to_shared(to + threadIdx.x * 4);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(from + threadIdx.x * 4) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
}

extern "C" __global__ void pipeline(unsigned tiles, const float *in, float *out)
{
    __shared__ __align__(16) float buffer[2][TILE];
    const float *from = in + blockIdx.x * tiles * TILE;
    unsigned t = threadIdx.x;
    float sum[4] = {0};
    copy_tile(from, buffer[0]);
    for (unsigned k = 0; k < tiles; k++) {
        if (k + 1 < tiles) {
            copy_tile(from + (k + 1) * TILE, buffer[(k + 1) & 1]);
            asm volatile("cp.async.wait_group 1;" ::: "memory");
        } else {
            asm volatile("cp.async.wait_group 0;" ::: "memory");
        }
        __syncthreads();
        for (unsigned j = 0; j < 4; j++)
            for (unsigned s = 0; s < 4; s++) sum[j] = fmaf(sum[j], 0.75f, buffer[k & 1][(t + j * 128 + s * 37) % TILE]);
        __syncthreads();
    }
    for (unsigned j = 0; j < 4; j++) out[blockIdx.x * TILE + j * 128 + t] = sum[j];
}
