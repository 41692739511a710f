// A spin lock. FAULT: its fences are for a block, and other blocks take the lock.
#ifdef FAULT
#define FENCE __threadfence_block
#else
#define FENCE __threadfence
#endif
extern "C" __global__ void k(int *lock, int *total)
{
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    FENCE();
    total[0] += blockIdx.x + 1; //@ add
    FENCE();
    atomicExch(lock, 0);
}
