__device__ __noinline__ int inner(int a) { return a * a; }
extern "C" __device__ __noinline__ int outer(int a, char b) { return inner(a) + b; }
static __device__ __noinline__ void nothing(volatile int *a) { *a = 1; }
__device__ __noinline__ bool truth(bool a, float b) { return a && b > 1; }
__global__ void k(int *x) { x[0] = outer(x[1], (char)x[2]); nothing(x); x[3] = truth(x[4], 2); }
