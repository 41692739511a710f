// A scan in one pass: each CTA looks back at what the earlier ones have. FAULT: no fences before the states.
extern "C" __global__ void k(const int *in, int *sums, int *prefixes, volatile int *state)
{
    int b = blockIdx.x, sum = in[b], before = 0;
    sums[b] = sum; //@ sum
#ifndef FAULT
    __threadfence();
#endif
    state[b] = 1;
    for (int i = b - 1; i >= 0; i--) {
        int found;
        while ((found = state[i]) == 0) {
        }
        __threadfence();
        if (found == 2) {
            before += prefixes[i]; //@ look
            break;
        }
        before += sums[i]; //@ look
    }
    prefixes[b] = before + sum; //@ prefix
#ifndef FAULT
    __threadfence();
#endif
    state[b] = 2;
}
