// Replaces what is there by what is greater. FAULT: the host has allocated it, and nobody has filled it.
extern "C" __global__ void k(const int *in, int *most)
{
    if (in[threadIdx.x] > most[threadIdx.x]) //@ use
        most[threadIdx.x] = in[threadIdx.x]; //@ use
}
