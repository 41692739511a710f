// A spin lock. FAULT: no fence behind the lock.
extern "C" __global__ void k(int *lock, int *total)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
#ifndef FAULT
    __threadfence();
#endif
    total[0] += blockIdx.x + 1; //@ add
    __threadfence();
    atomicExch(lock, 0);
}
