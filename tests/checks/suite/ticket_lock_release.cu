// A ticket lock. FAULT: no fence before the next one is served.
extern "C" __global__ void k(int *next, volatile int *serving, int *total)
{
    int ticket = atomicAdd(next, 1);
    while (*serving != ticket) {
    }
    __threadfence();
    total[0] = total[0] * 2 + 1; //@ add
#ifndef FAULT
    __threadfence();
#endif
    *serving = ticket + 1;
}
