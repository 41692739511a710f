// Collects the odd numbers, and sums them. FAULT: the items are read before all are there.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int count, items[64];
    int t = threadIdx.x;
    if (t == 0)
        count = 0;
    items[t] = 0; //@ zero
    __syncthreads();
    if (in[t] & 1) {
        int at = atomicAdd(&count, 1);
        items[at] = in[t]; //@ put
    }
#ifndef FAULT
    __syncthreads();
#endif
    atomicAdd(out, items[t]); //@ get
}
