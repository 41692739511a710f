// The threads of a block share a buffer from the heap, which one of them asks for. FAULT: nobody gives it back.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int *buffer;
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (t == 0)
        buffer = (int *)malloc(blockDim.x * sizeof(int)); //@ got
    __syncthreads();
    buffer[t] = in[i];
    __syncthreads();
    out[i] = buffer[blockDim.x - 1 - t];
#ifndef FAULT
    __syncthreads();
    if (t == 0)
        free(buffer);
#endif
}
