// Each CTA waits for the carry of the one before. FAULT: the carry is taken without the flag.
extern "C" __global__ void k(const int *in, volatile int *flag, int *carry, int *out)
{
    int b = blockIdx.x, before = 0;
    if (b > 0) {
#ifndef FAULT
        while (flag[b - 1] == 0) {
        }
        __threadfence();
#endif
        before = carry[b - 1]; //@ get
    }
    carry[b] = before + in[b]; //@ put
    __threadfence();
    flag[b] = 1;
    out[b] = before;
}
