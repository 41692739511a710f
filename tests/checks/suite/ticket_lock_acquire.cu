// A ticket lock. FAULT: no fence behind the wait.
extern "C" __global__ void k(int *next, volatile int *serving, int *total)
{
    int ticket = atomicAdd(next, 1);
    while (*serving != ticket) {
    }
#ifndef FAULT
    __threadfence();
#endif
    total[0] = total[0] * 2 + 1; //@ add
    __threadfence();
    *serving = ticket + 1;
}
