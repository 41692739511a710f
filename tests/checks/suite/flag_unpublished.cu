// One thread waits for the flag, and all of its CTA read. FAULT: the others do not wait for it.
extern "C" __global__ void k(const int *in, int *data, int *out, volatile int *flag)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] + 1; //@ put
        __syncthreads();
        if (t == 0) {
            __threadfence();
            flag[0] = 1;
        }
    } else {
        if (t == 0) {
            while (flag[0] == 0) {
            }
            __threadfence();
        }
#ifndef FAULT
        __syncthreads();
#endif
        out[t] = data[31 - t]; //@ get
    }
}
