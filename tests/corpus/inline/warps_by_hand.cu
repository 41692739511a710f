// sm_80 sm_90 sm_100: what threads of a warp tell one another
__global__ void k(unsigned *x, float *y)
{
    unsigned m, r, q;
    asm volatile("activemask.b32 %0;" : "=r"(m));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 0x1, 0x1f, 0xffffffff;" : "=r"(r) : "r"(x[0]));
    asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 1, 0, %3; selp.u32 %1, 1, 0, p; }" : "=r"(r), "=r"(q) : "r"(x[1]), "r"(m));
    asm volatile("{ .reg .pred p, q; setp.gt.u32 p, %1, 4; vote.sync.any.pred q, p, %2; selp.u32 %0, 1, 0, q; }" : "=r"(x[2]) : "r"(r), "r"(m));
    asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 4; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(x[3]) : "r"(r), "r"(m));
    asm volatile("match.any.sync.b32 %0, %1, %2;" : "=r"(x[4]) : "r"(r), "r"(m));
    asm volatile("redux.sync.add.s32 %0, %1, %2;" : "=r"(x[5]) : "r"(r), "r"(m));
    asm volatile("redux.sync.xor.b32 %0, %1, 0xffffffff;" : "=r"(x[6]) : "r"(r));
    asm volatile("bar.warp.sync %0;" :: "r"(m));
    asm volatile("barrier.sync.aligned %0, %1;" :: "r"(1), "r"(64) : "memory");
    asm volatile("bar.arrive 2, 64;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; barrier.red.popc.u32 %0, 3, p; }" : "=r"(x[7]) : "r"(r));
    asm volatile("nanosleep.u32 %0;" :: "r"(40));
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(x[8]), "=r"(x[9]));
#endif
}
