// Sums of three neighbours. FAULT: they replace the numbers that others still need.
extern "C" __global__ void k(int *in, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
#ifdef FAULT
    out = in;
#endif
    int sum = in[i - 1] + in[i] + in[i + 1]; //@ get
    out[i] = sum; //@ put
}
