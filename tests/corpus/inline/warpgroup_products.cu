// sm_90a: products of a warpgroup
__global__ void k(float *x, unsigned long long a, unsigned long long b)
{
    float d0 = x[0], d1 = x[1], d2 = x[2], d3 = x[3];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, %4, %5, p, 1, 1, 0, 0; }"
                 : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(a), "l"(b));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    x[0] = d0; x[1] = d1; x[2] = d2; x[3] = d3;
}
