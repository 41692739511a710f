// Shortest ways between all nodes of a graph: a launch for each node that ways may lead through.

extern "C" __global__ void floyd_warshall(unsigned n, unsigned k, unsigned *distances)
{
    unsigned x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (y == k || x == k) return;
    distances[y * n + x] = min(distances[y * n + x], distances[y * n + k] + distances[k * n + x]);
}
