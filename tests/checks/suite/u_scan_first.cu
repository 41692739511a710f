// An exclusive scan. FAULT: each thread writes its successor's element, and nobody writes the first.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int sums[33];
    int t = threadIdx.x;
    int sum = in[t];
    for (int d = 1; d < 32; d *= 2) {
        int left = __shfl_up_sync(0xffffffff, sum, d);
        if (t >= d)
            sum += left;
    }
    sums[t + 1] = sum;
#ifndef FAULT
    if (t == 0)
        sums[0] = 0;
#endif
    __syncwarp();
    out[t] = sums[t]; //@ use
}
