// A lane needs a neighbour's register, and its element. FAULT: a shuffle is thought to order memory.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x, x = in[t];
    tile[t] = x * x; //@ put
    x = __shfl_xor_sync(0xffffffff, x, 1);
#ifndef FAULT
    __syncwarp();
#endif
    out[t] = x + tile[t ^ 1]; //@ get
}
