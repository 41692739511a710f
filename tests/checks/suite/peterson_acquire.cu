// Peterson's algorithm for two. FAULT: no fence between the wait and what it protects.
extern "C" __global__ void k(volatile int *wants, volatile int *turn, int *total)
{
    int me = blockIdx.x, other = 1 - me;
    wants[me] = 1;
    *turn = other;
    __threadfence();
    while (wants[other] && *turn == other) {
    }
#ifndef FAULT
    __threadfence();
#endif
    total[0] += me + 1; //@ add
    __threadfence();
    wants[me] = 0;
}
