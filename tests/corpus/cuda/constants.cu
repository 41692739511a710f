__constant__ float weights[16] = {1, 2, 3.5f, -4};
__constant__ struct { int a; double b; } setup = {3, 1e300};
__device__ const unsigned char bytes[] = "some text";
__device__ int counter = 7;
__device__ int *pointer = &counter;
__device__ int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
__global__ void k(float *x, int i) { x[i] = weights[i] + setup.a * (float)setup.b + bytes[i & 7] + *pointer + matrix[i & 1][2]; }
