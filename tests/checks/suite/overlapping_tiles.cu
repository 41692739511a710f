// Each CTA writes a tile. FAULT: the tiles are four elements too near.
#ifdef FAULT
#define APART 28
#else
#define APART 32
#endif
extern "C" __global__ void k(int *out)
{
    out[blockIdx.x * APART + threadIdx.x] = blockIdx.x * 1000 + threadIdx.x; //@ put
}
