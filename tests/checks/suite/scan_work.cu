// The first half of a work-efficient scan: sums of pairs, of fours and so on. FAULT: the levels are not separated.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int sums[128];
    int t = threadIdx.x;
    sums[2 * t] = in[2 * t];
    sums[2 * t + 1] = in[2 * t + 1];
    int step = 1;
    __syncthreads();
    for (int active = 64; active > 0; active /= 2) {
        if (t < active)
            sums[step * (2 * t + 2) - 1] += sums[step * (2 * t + 1) - 1]; //@ add
        step *= 2;
#ifndef FAULT
        __syncthreads();
#endif
    }
    if (t == 0)
        out[0] = sums[127]; //@ out
}
