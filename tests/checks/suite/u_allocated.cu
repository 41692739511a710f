// Adds to what is there. FAULT: the host has allocated it, and nobody has filled it.
extern "C" __global__ void k(const int *in, const int *sums, int *out)
{
    out[threadIdx.x] = sums[threadIdx.x] + in[threadIdx.x]; //@ use
}
