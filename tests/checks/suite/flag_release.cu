// One CTA passes a number to another one. FAULT: no fence between the number and the flag.
extern "C" __global__ void k(const int *in, int *data, int *out, volatile int *flag)
{
    if (blockIdx.x == 0) {
        data[0] = in[0] + 1; //@ put
#ifndef FAULT
        __threadfence();
#endif
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {
        }
        __threadfence();
        out[0] = data[0]; //@ get
    }
}
