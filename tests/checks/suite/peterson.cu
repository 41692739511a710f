// Peterson's algorithm for two. FAULT: no fence before the lock is given back.
extern "C" __global__ void k(volatile int *wants, volatile int *turn, int *total)
{
    int me = blockIdx.x, other = 1 - me;
    wants[me] = 1;
    *turn = other;
    __threadfence();
    while (wants[other] && *turn == other) {
    }
    __threadfence();
    total[0] += me + 1; //@ add
#ifndef FAULT
    __threadfence();
#endif
    wants[me] = 0;
}
