// One level of a breadth-first search. FAULT: two threads may meet one new node, and each takes it for its own.
extern "C" __global__ void k(const int *from, const int *to, int *level, int *count)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int node = to[i];
#ifdef FAULT
    if (level[node] < 0) { //@ look
        level[node] = from[i] + 1; //@ take
        atomicAdd(count, 1);
    }
#else
    if (atomicCAS(&level[node], -1, from[i] + 1) == -1)
        atomicAdd(count, 1);
#endif
}
