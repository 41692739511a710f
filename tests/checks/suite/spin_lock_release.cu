// A spin lock. FAULT: no fence before it is unlocked.
extern "C" __global__ void k(int *lock, volatile int *total)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    *(int *)total += blockIdx.x + 1; //@ add
#ifndef FAULT
    __threadfence();
#endif
    atomicExch(lock, 0);
}
