// sm_80 sm_90 sm_120: atomics with an order, a scope, and vectors
__global__ void k(unsigned *x, float *y, unsigned long long *z, unsigned short *h)
{
    unsigned r; unsigned long long w; float f;
    asm volatile("atom.add.release.gpu.global.u32 %0, [%1], 1;" : "=r"(r) : "l"(x) : "memory");
    asm volatile("atom.global.acq_rel.cta.cas.b64 %0, [%1], %2, %3;" : "=l"(w) : "l"(z), "l"(z[1]), "l"(z[2]) : "memory");
    asm volatile("red.relaxed.sys.global.max.s32 [%0], %1;" :: "l"(x), "r"(r) : "memory");
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" :: "l"(x), "r"(r) : "memory");
    asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(r) : "l"(x), "r"(x[1]) : "memory");
    asm volatile("atom.global.inc.u32 %0, [%1], 32;" : "=r"(r) : "l"(x) : "memory");
    asm volatile("atom.global.add.f32 %0, [%1], %2;" : "=f"(f) : "l"(y), "f"(y[1]) : "memory");
#if __CUDA_ARCH__ >= 900
    asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(r) : "l"(x), "r"(x[1]) : "memory");
    asm volatile("red.global.add.v4.f32 [%0], {%1,%1,%1,%1};" :: "l"(y), "f"(f) : "memory");
    asm volatile("red.global.add.noftz.v2.f16x2 [%0], {%1,%1};" :: "l"(x), "r"(r) : "memory");
    asm volatile("{ .reg .b128 a, b, c; mov.b128 a, {%1, %1}; mov.b128 b, {%1, %2}; atom.global.cas.b128 c, [%0], a, b; }" :: "l"(z), "l"(w), "l"(z[3]) : "memory");
#endif
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
    asm volatile("fence.sc.cta;" ::: "memory");
    x[2] = r; y[2] = f; z[5] = w;
}
