// The cheapest way down a grid of costs: several rows a launch, in shared memory, with a rim that shrinks by one a row.

#define WIDTH 256
#define ROWS 16

extern "C" __global__ void pathfinder(int n, const int *costs, const int *from, int *to)
{
    __shared__ int best[2][WIDTH];
    int t = threadIdx.x, x = (int)(blockIdx.x * (WIDTH - 2 * ROWS)) + t - ROWS, at = min(max(x, 0), n - 1), row = 0;
    best[0][t] = from[at];
    __syncthreads();
    for (; row < ROWS; row++) {
        const int *above = best[row & 1];
        int left = t > 0 && x > 0 ? above[t - 1] : above[t], right = t < WIDTH - 1 && x < n - 1 ? above[t + 1] : above[t];
        best[1 - (row & 1)][t] = min(min(left, right), above[t]) + costs[row * n + at];
        __syncthreads();
    }
    if (t >= ROWS && t < WIDTH - ROWS && x < n) to[x] = best[row & 1][t];
}
