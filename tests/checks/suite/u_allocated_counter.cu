// Counts the odd numbers in allocated memory. FAULT: nobody has set the counter to zero.
extern "C" __global__ void k(const int *in, int *count, int *out)
{
    if (in[threadIdx.x] & 1)
        atomicAdd(count, 1); //@ use
    __syncthreads();
    if (threadIdx.x == 0)
        out[0] = *(volatile int *)count; //@ use
}
