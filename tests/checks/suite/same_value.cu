// Any thread that finds a negative number says so. FAULT: each says which one it has found.
extern "C" __global__ void k(const int *in, int *answer)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] < 0) {
#ifdef FAULT
        answer[0] = i + 1; //@ put
#else
        answer[0] = 1;
#endif
    }
}
