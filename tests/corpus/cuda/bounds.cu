__global__ void __launch_bounds__(256, 2) a(int *x) { x[threadIdx.x] *= 3; }
__global__ void __launch_bounds__(128) b(int *x) { x[threadIdx.x] -= 3; }
#if __CUDA_ARCH__ >= 900
__global__ void __launch_bounds__(64, 2, 4) c(int *x) { x[threadIdx.x] += 3; }
__global__ void __cluster_dims__(2, 1, 1) d(int *x) { x[threadIdx.x] ^= 3; }
__global__ void __block_size__((8, 8, 1)) f(int *x) { x[threadIdx.x] |= 5; }
#endif
__global__ void __maxnreg__(40) e(int *x) { x[threadIdx.x] |= 3; }
