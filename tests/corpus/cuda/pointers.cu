typedef float (*op)(float, float);
__device__ __noinline__ float add(float a, float b) { return a + b; }
__device__ __noinline__ float mul(float a, float b) { return a * b; }
__device__ __noinline__ float sub(float a, float b) { return a - b; }
__device__ op table[3] = {add, mul, sub};
__constant__ op chosen = mul;
__global__ void k(float *x, int i) { x[0] = table[i](x[1], x[2]); x[3] = chosen(x[0], 2.0f); }
