// sm_80 sm_90: hints for caches
__global__ void k(int4 *x, float *y, unsigned long long *policy)
{
    int4 a;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(a.x), "=r"(a.y), "=r"(a.z), "=r"(a.w) : "l"(x));
    asm volatile("st.global.L1::no_allocate.v4.s32 [%0], {%1,%2,%3,%4};" :: "l"(x + 1), "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w) : "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %1, 0; @!p mov.b32 %0, 0; @p ld.global.L2::256B.b32 %0, [%2]; }" : "=r"(a.x) : "r"(a.y), "l"(x + 2));
    asm volatile("createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %0, 0.5;" : "=l"(policy[0]));
    asm volatile("createpolicy.range.L2::evict_last.b64 %0, [%1], 1024, 4096;" : "=l"(policy[1]) : "l"(x));
    asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(y[0]) : "l"(y + 1), "l"(policy[0]));
    asm volatile("prefetch.global.L2 [%0];" :: "l"(x));
    asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x));
    asm volatile("discard.global.L2 [%0], 128;" :: "l"(x));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" :: "l"(x));
    asm volatile("ld.weak.global.cv.b32 %0, [%1];" : "=r"(a.y) : "l"(x));
    asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(a.y) : "l"(x));
    asm volatile("st.release.sys.global.b32 [%0], %1;" :: "l"(x), "r"(a.y) : "memory");
    x[3] = a;
}
