// Each CTA writes 64 elements. FAULT: the loop goes on for one more.
extern "C" __global__ void k(int *out)
{
#ifdef FAULT
    int last = 64;
#else
    int last = 63;
#endif
    for (int i = threadIdx.x; i <= last; i += 32)
        out[blockIdx.x * 64 + i] = blockIdx.x * 1000 + i; //@ put
}
