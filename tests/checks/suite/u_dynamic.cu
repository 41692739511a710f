// Reverses numbers in dynamic shared memory. FAULT: there is more of it than was written.
extern "C" __global__ void k(const int *in, int size, int *out)
{
    extern __shared__ int memory[];
    int t = threadIdx.x;
    memory[t] = in[t];
    __syncthreads();
#ifdef FAULT
    out[t] = memory[size - 1 - t]; //@ use
#else
    out[t] = memory[31 - t];
#endif
}
