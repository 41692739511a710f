// A thread makes a search tree, which outlives the launch. FAULT: it removes the root, and forgets the numbers that are smaller.
struct Node {
    int value;
    Node *less, *more;
};
__device__ Node *root;
extern "C" __global__ void k(const int *in, int n, int *out)
{
    root = nullptr;
    int count = 0;
    for (int i = 0; i < n; i++) {
        Node **place = &root;
        while (*place && (*place)->value != in[i])
            place = in[i] < (*place)->value ? &(*place)->less : &(*place)->more;
        if (*place)
            continue;
        Node *node = (Node *)malloc(sizeof(Node)); //@ got
        node->value = in[i];
        node->less = node->more = nullptr;
        *place = node;
        count++;
    }
    *out = count;
#ifdef FAULT
    Node *old = root;
    root = old->more;
    free(old);
#endif
}
