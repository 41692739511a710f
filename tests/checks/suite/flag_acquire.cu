// One CTA passes a number to another one. FAULT: no fence between the flag and what is read.
extern "C" __global__ void k(const int *in, volatile int *data, int *out, volatile int *flag)
{
    if (blockIdx.x == 0) {
        ((int *)data)[0] = in[0] + 1; //@ put
        __threadfence();
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {
        }
#ifndef FAULT
        __threadfence();
#endif
        out[0] = data[0]; //@ get
    }
}
