// A warp computes an inclusive scan in place. FAULT: an element is replaced while its neighbour may still have to read it.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int sums[32];
    int t = threadIdx.x;
    sums[t] = in[t];
    __syncwarp();
    for (int d = 1; d < 32; d *= 2) {
        int left = t >= d ? sums[t - d] : 0; //@ get
#ifndef FAULT
        __syncwarp();
#endif
        sums[t] += left; //@ put
        __syncwarp();
    }
    out[t] = sums[t];
}
