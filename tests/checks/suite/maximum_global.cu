// The maximum of all. FAULT: compared and stored in two steps.
extern "C" __global__ void k(const int *in, int *most)
{
    int x = in[blockIdx.x * blockDim.x + threadIdx.x];
#ifdef FAULT
    if (x > most[0]) //@ max
        most[0] = x; //@ max
#else
    atomicMax(most, x);
#endif
}
