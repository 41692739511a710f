// Lanes of two branches meet again. FAULT: meeting again is thought to order memory.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t & 1)
        tile[t] = in[t] * 3; //@ put
    else
        tile[t] = in[t ^ 2] + 7; //@ put
#ifndef FAULT
    __syncwarp();
#endif
    out[t] = tile[t ^ 1]; //@ get
}
