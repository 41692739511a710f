__device__ volatile int flag; __shared__ volatile float s[4];
__global__ void k(volatile unsigned char *p, int *x) { while (flag == 0) ; s[threadIdx.x] = *p; *p = 3; x[0] = (int)s[1]; __syncthreads(); flag = 0; }
