// Each thread makes a list of its numbers, adds them up, and gives the nodes back. FAULT: the last node stays.
struct Node {
    int value;
    Node *next;
};
extern "C" __global__ void k(const int *in, int *out)
{
    int t = threadIdx.x;
    Node *list = nullptr;
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        Node *node = (Node *)malloc(sizeof(Node)); //@ got
        node->value = in[4 * t + i];
        node->next = list;
        list = node;
    }
    int sum = 0;
    for (Node *node = list; node; node = node->next)
        sum += node->value;
    out[t] = sum;
#ifdef FAULT
    while (list && list->next) {
#else
    while (list) {
#endif
        Node *next = list->next;
        free(list);
        list = next;
    }
}
