// Peterson's algorithm for two. FAULT: its first fence releases and acquires, and does not keep a load behind an earlier store: both
// may enter. No execution that takes one access after the other has this race.
#ifdef FAULT
#define ORDER() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#else
#define ORDER() __threadfence()
#endif
extern "C" __global__ void k(volatile int *wants, volatile int *turn, int *total)
{
    int me = blockIdx.x, other = 1 - me;
    wants[me] = 1;
    *turn = other;
    ORDER();
    while (wants[other] && *turn == other) {
    }
    ORDER();
    total[0] += me + 1;
    ORDER();
    wants[me] = 0;
}
