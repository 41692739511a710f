// All threads of a CTA write, and one sets the flag. FAULT: it does not wait for the others.
extern "C" __global__ void k(const int *in, int *data, int *out, volatile int *flag)
{
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        data[t] = in[t] + 1; //@ put
#ifndef FAULT
        __syncthreads();
#endif
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
        __syncthreads();
        out[t] = data[31 - t]; //@ get
    }
}
