// sm_100a sm_103a: tensor memory
__global__ void k(unsigned *x, unsigned long long a, unsigned long long b)
{
    __shared__ unsigned cell;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&cell)), r0, r1;
    asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" :: "r"(at) : "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, %2, %3, p; }" :: "r"(cell), "l"(a), "l"(b), "r"(0));
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0, %1}, [%2];" : "=r"(r0), "=r"(r1) : "r"(cell));
    asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
    asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" :: "r"(cell));
    x[0] = r0 + r1;
}
