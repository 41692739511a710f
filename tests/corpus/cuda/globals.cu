struct alignas(16) Node { Node *next; int value; };
extern __device__ Node first;
__device__ Node second = {0, 2}; __device__ Node first = {&second, 1};
__device__ char text[] = "abc"; __device__ const char *names[] = {"one", "two", text + 1};
__device__ float2 pair = {1.5f, -2.0f}; __device__ long long big = -1ll; __device__ double dd[3] = {1, 2};
__global__ void k(int *x) { static __device__ int calls = 3; calls++; x[0] = first.next->value + names[x[1]][0] + (int)pair.y + (int)big + (int)dd[1]; __shared__ Node n; n = first; __syncthreads(); x[2] = n.value; }
