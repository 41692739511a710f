// A lane reads what another one of its warp has written. FAULT: each half of the warp waits for itself alone.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t]; //@ put
#ifdef FAULT
    if (t < 16)
        __syncwarp(0x0000ffff);
    else
        __syncwarp(0xffff0000);
#else
    __syncwarp();
#endif
    out[t] = tile[31 - t]; //@ get
}
