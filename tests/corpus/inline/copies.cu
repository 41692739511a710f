// sm_80 sm_90: copies that finish later, two stages deep
__global__ void k(float const *in, float *out, int n)
{
    extern __shared__ __align__(16) float cell[];
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(cell)) + threadIdx.x * 16;
    unsigned long long policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    for (int i = 0; i < n; i++) {
        int size = i + 1 < n ? 16 : 8;
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" :: "r"(at + (i & 1) * 2048), "l"(in + i * 512 + threadIdx.x * 4), "r"(size));
        asm volatile("{\n  .reg .pred p;\n  setp.ne.b32 p, %0, 0;\n  @p cp.async.ca.shared.global [%1], [%2], 4;\n}\n" :: "r"(i), "r"(at + 4096), "l"(in));
        asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" :: "r"(at + 8192), "l"(in + threadIdx.x * 4), "l"(policy));
        asm volatile("cp.async.commit_group;\n" ::);
        asm volatile("cp.async.wait_group %0;\n" :: "n"(1));
        __syncthreads();
        out[i * 128 + threadIdx.x] = cell[(i & 1) * 512 + threadIdx.x * 4];
    }
    asm volatile("cp.async.wait_all;\n" ::);
}
