__global__ void k(int *x, unsigned *u)
{
#if __CUDA_ARCH__ >= 800
    x[0] = __reduce_add_sync(~0u, x[threadIdx.x]); x[1] = __reduce_min_sync(~0u, x[threadIdx.x]);
    u[0] = __reduce_xor_sync(~0u, u[threadIdx.x]); u[1] = __reduce_max_sync(~0u, u[threadIdx.x]);
#endif
    x[2] = __syncthreads_count(x[3]) + __syncthreads_and(x[4]) + __syncthreads_or(x[5]);
    __threadfence(); __threadfence_block(); __threadfence_system();
}
