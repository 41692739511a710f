// Counts the threads. FAULT: one of them sets the counter to zero, which others may already use.
extern "C" __global__ void k(int *count)
{
#ifdef FAULT
    if (blockIdx.x == 0 && threadIdx.x == 0)
        count[0] = 0; //@ zero
#endif
    atomicAdd(count, 1); //@ add
}
