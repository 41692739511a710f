__device__ void order(int &a, int &b, bool up) { if ((a > b) == up) { int t = a; a = b; b = t; } }
__global__ void bitonic(int *x, int n)
{
    extern __shared__ int s[];
    s[threadIdx.x] = x[threadIdx.x];
    for (int k = 2; k <= n; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            __syncthreads();
            int o = threadIdx.x ^ j;
            if (o > threadIdx.x) order(s[threadIdx.x], s[o], !(threadIdx.x & k));
        }
    __syncthreads();
    x[threadIdx.x] = s[threadIdx.x];
}
