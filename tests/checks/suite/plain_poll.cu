// Threads look how far the others are. FAULT: by a plain load of the atomic counter.
extern "C" __global__ void k(int *done, int *seen)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(done, 1); //@ add
#ifdef FAULT
    seen[i] = done[0]; //@ get
#else
    seen[i] = *(volatile int *)done;
#endif
}
