extern __device__ int elsewhere(int, float);
extern __device__ int there;
extern __constant__ float table[];
__managed__ int shared_with_host = 5;
__global__ void k(int *x) { x[0] = elsewhere(x[1], 2.0f) + there + (int)table[3] + shared_with_host; }
