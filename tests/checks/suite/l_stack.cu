// Threads push nodes on a stack without locks, whose head has a counter in its upper 16 bits. FAULT: a node does not point to the
// one below it.
struct Node {
    int value;
    unsigned long long next;
};
__device__ unsigned long long head;
extern "C" __global__ void k(const int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Node *node = (Node *)malloc(sizeof(Node)); //@ got
    node->value = in[i];
    unsigned long long old = atomicAdd(&head, 0), seen;
    for (;;) {
#ifdef FAULT
        atomicExch(&node->next, 0);
#else
        atomicExch(&node->next, old);
#endif
        __threadfence();
        seen = atomicCAS(&head, old, (unsigned long long)node | ((old >> 48) + 1) << 48);
        if (seen == old)
            break;
        old = seen;
    }
    out[i] = in[i];
}
