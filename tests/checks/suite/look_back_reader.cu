// A scan in one pass: each CTA looks back at what the earlier ones have. FAULT: no fence behind the state that it has seen.
extern "C" __global__ void k(const int *in, volatile int *sums, volatile int *prefixes, volatile int *state)
{
    int b = blockIdx.x, sum = in[b], before = 0;
    ((int *)sums)[b] = sum; //@ sum
    __threadfence();
    state[b] = 1;
    for (int i = b - 1; i >= 0; i--) {
        int found;
        while ((found = state[i]) == 0) {
        }
#ifndef FAULT
        __threadfence();
#endif
        if (found == 2) {
            before += prefixes[i]; //@ look
            break;
        }
        before += sums[i]; //@ look
    }
    ((int *)prefixes)[b] = before + sum; //@ prefix
    __threadfence();
    state[b] = 2;
}
