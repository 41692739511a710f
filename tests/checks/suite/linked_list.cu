// Each thread pushes a node onto a list. FAULT: the head is read and replaced in two steps.
extern "C" __global__ void k(int *head, int *next)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
#ifdef FAULT
    next[i] = head[0]; //@ push
    head[0] = i; //@ push
#else
    next[i] = atomicExch(head, i);
#endif
}
