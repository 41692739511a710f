// Each thread sorts its numbers in memory from the heap. FAULT: a thread that has nothing to sort leaves without giving it back.
extern "C" __global__ void k(const int *in, int *out)
{
    int t = threadIdx.x;
    int *own = (int *)malloc(4 * sizeof(int)); //@ got
    for (int i = 0; i < 4; i++)
        own[i] = in[4 * t + i];
    bool sorted = own[0] <= own[1] && own[1] <= own[2] && own[2] <= own[3];
    if (sorted) {
        for (int i = 0; i < 4; i++)
            out[4 * t + i] = own[i];
#ifndef FAULT
        free(own);
#endif
        return;
    }
    for (int i = 1; i < 4; i++)
        for (int j = i; j > 0 && own[j - 1] > own[j]; j--) {
            int value = own[j];
            own[j] = own[j - 1];
            own[j - 1] = value;
        }
    for (int i = 0; i < 4; i++)
        out[4 * t + i] = own[i];
    free(own);
}
