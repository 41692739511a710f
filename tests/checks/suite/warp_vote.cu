// Lanes ask whether any of them has stored something. FAULT: a vote is thought to order memory.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t]; //@ put
    int any = __any_sync(0xffffffff, in[t] > 5);
#ifndef FAULT
    __syncwarp();
#endif
    out[t] = any ? tile[(t + 1) % 32] : -1; //@ get
}
