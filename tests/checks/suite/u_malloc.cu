// A list of numbers in memory from the heap. FAULT: its last node has no end.
struct Node {
    int value;
    Node *next;
};
extern "C" __global__ void k(const int *in, int *out)
{
    Node *first = (Node *)malloc(sizeof(Node)), *second = (Node *)malloc(sizeof(Node));
    first->value = in[0];
    first->next = second;
    second->value = in[1];
#ifndef FAULT
    second->next = nullptr;
#endif
    int sum = 0, n = 0;
#pragma unroll 1
    for (volatile Node *node = first; node != nullptr && n < 2; node = node->next, n++) //@ use
        sum += node->value;
    out[0] = sum + (((volatile Node *)second)->next != nullptr); //@ use
    free(first);
    free(second);
}
