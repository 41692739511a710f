// One CTA passes 16 numbers to another one through a ring of four. FAULT: no fence before a place is given back.
extern "C" __global__ void k(const int *in, int *ring, int *out, volatile int *head, volatile int *tail)
{
    if (blockIdx.x == 0) {
        for (int i = 0; i < 16; i++) {
            while (*tail + 4 <= i) {
            }
            __threadfence();
            ring[i & 3] = in[i]; //@ put
            __threadfence();
            *head = i + 1;
        }
    } else {
        for (int i = 0; i < 16; i++) {
            while (*head <= i) {
            }
            __threadfence();
            out[i] = ring[i & 3]; //@ get
#ifndef FAULT
            __threadfence();
#endif
            *tail = i + 1;
        }
    }
}
