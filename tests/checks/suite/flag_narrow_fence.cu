// One CTA passes a number to another one. FAULT: by fences for its CTA.
#ifdef FAULT
#define FENCE __threadfence_block
#else
#define FENCE __threadfence
#endif
extern "C" __global__ void k(const int *in, int *data, int *out, volatile int *flag)
{
    if (blockIdx.x == 0) {
        data[0] = in[0] + 1; //@ put
        FENCE();
        flag[0] = 1;
    } else {
        while (flag[0] == 0) {
        }
        FENCE();
        out[0] = data[0]; //@ get
    }
}
