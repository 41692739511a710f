// sm_75 sm_90 sm_100: matrices between shared memory and registers
__global__ void k(unsigned *out)
{
    __shared__ __align__(128) unsigned cell[512];
    unsigned r[4], x, at = static_cast<unsigned>(__cvta_generic_to_shared(cell)) + threadIdx.x * 16;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at + 64));
    asm volatile("ldmatrix.sync.aligned.x1.m8n8.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(at));
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[2]) : "r"(x));
#if __CUDA_ARCH__ >= 900
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared::cta.b16 [%0], {%1};" :: "r"(at), "r"(r[0]) : "memory");
#endif
    out[threadIdx.x] = r[0] + r[1] + r[2] + r[3] + cell[threadIdx.x];
}
