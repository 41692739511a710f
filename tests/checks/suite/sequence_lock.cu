// A sequence lock: who reads tries again if somebody has written meanwhile. FAULT: the data are accessed plainly.
#ifdef FAULT
#define DATA int
#else
#define DATA volatile int
#endif
extern "C" __global__ void k(volatile int *sequence, int *data, int *out)
{
    DATA *pair = data;
    if (blockIdx.x == 0) {
        for (int i = 1; i <= 4; i++) {
            sequence[0] = 2 * i - 1;
            __threadfence();
            pair[0] = i; //@ put
            pair[1] = 3 * i; //@ put
            __threadfence();
            sequence[0] = 2 * i;
        }
    } else {
        int before, after, a, b;
        do {
            before = sequence[0];
            __threadfence();
            a = pair[0]; //@ get
            b = pair[1]; //@ get
            __threadfence();
            after = sequence[0];
        } while (before != after || (before & 1));
        out[0] = b - 3 * a;
    }
}
