// Each thread sets its bit. FAULT: without an atomic operation.
extern "C" __global__ void k(const int *in, unsigned *mask)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] & 1) {
#ifdef FAULT
        mask[i / 32] |= 1u << (i % 32); //@ put
#else
        atomicOr(&mask[i / 32], 1u << (i % 32));
#endif
    }
}
