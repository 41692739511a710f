// One CTA passes a number to another one. FAULT: no fences. All accesses are strong, so that there is no race: the reader may just
// get an old number.
extern "C" __global__ void k(const int *in, volatile int *data, int *out, volatile int *flag)
{
    if (blockIdx.x == 0) {
        data[0] = in[0] + 1;
#ifndef FAULT
        __threadfence();
#endif
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {
        }
#ifndef FAULT
        __threadfence();
#endif
        out[0] = data[0];
    }
}
