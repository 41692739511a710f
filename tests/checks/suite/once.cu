// The first thread that comes prepares a number, and the others wait. FAULT: the state is first read by a plain load.
extern "C" __global__ void k(volatile int *state, int *value, int *out)
{
    int i = blockIdx.x;
#ifdef FAULT
    if (((int *)state)[0] != 2) { //@ test
#else
    if (state[0] != 2) {
#endif
        if (atomicCAS((int *)state, 0, 1) == 0) { //@ take
            value[0] = 42;
            __threadfence();
            state[0] = 2; //@ ready
        } else
            while (state[0] != 2) {
            }
    }
    __threadfence();
    out[i] = value[0] + i;
}
