// Each thread has two nodes that point to one another. FAULT: it gives neither back, and nothing else points to them.
struct Node {
    int value;
    Node *other;
};
extern "C" __global__ void k(const int *in, int *out)
{
    int t = threadIdx.x;
    Node *volatile here = (Node *)malloc(sizeof(Node)); //@ got
    Node *volatile there = (Node *)malloc(sizeof(Node)); //@ second
    Node *a = here, *b = there;
    a->value = in[t];
    a->other = b;
    b->value = 1;
    b->other = a;
    out[t] = a->other->value + b->other->value;
#ifndef FAULT
    free(a);
    free(b);
#endif
}
