// A spin lock. FAULT: it is unlocked by a plain store.
extern "C" __global__ void k(int *lock, int *total)
{
    while (atomicCAS(lock, 0, 1) != 0) { //@ lock
    }
    __threadfence();
    total[0] += blockIdx.x + 1; //@ add
    __threadfence();
#ifdef FAULT
    lock[0] = 0; //@ unlock
#else
    atomicExch(lock, 0);
#endif
}
