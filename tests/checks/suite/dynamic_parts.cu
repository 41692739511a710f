// Two arrays share the dynamic part. FAULT: the second begins inside the first.
extern "C" __global__ void k(const int *in, int *out)
{
    extern __shared__ int memory[];
    int t = threadIdx.x;
    int *first = memory;
#ifdef FAULT
    int *second = memory + 48;
#else
    int *second = memory + 64;
#endif
    first[t] = in[t]; //@ first
    second[t] = -in[t]; //@ second
    __syncthreads();
    out[t] = first[t] + 2 * second[t];
}
