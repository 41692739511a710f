// Lanes of one warp take a lock, one after the other. FAULT: no fence before it is unlocked.
extern "C" __global__ void k(int *lock, int *total)
{
    bool waits = true;
    while (waits) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            total[0] = total[0] * 3 + 1; //@ add
#ifndef FAULT
            __threadfence();
#endif
            atomicExch(lock, 0);
            waits = false;
        }
    }
}
