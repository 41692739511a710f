// Counts the odd numbers. FAULT: each CTA adds its count without an atomic.
extern "C" __global__ void k(const int *in, int *count)
{
    int n = __syncthreads_count(in[blockIdx.x * blockDim.x + threadIdx.x] & 1);
    if (threadIdx.x == 0) {
#ifdef FAULT
        count[0] += n; //@ add
#else
        atomicAdd(count, n);
#endif
    }
}
