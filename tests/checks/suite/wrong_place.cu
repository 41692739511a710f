// Each thread reads its neighbour's element. FAULT: the barrier stands before the store.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[64];
    int t = threadIdx.x;
#ifdef FAULT
    __syncthreads();
#endif
    tile[t] = in[t]; //@ put
#ifndef FAULT
    __syncthreads();
#endif
    out[t] = tile[63 - t]; //@ get
}
