// Distances from a node of a graph: in each launch the nodes at one distance reach their neighbours.

extern "C" __global__ void bfs(
    unsigned n, int distance, const unsigned *starts, const unsigned *neighbours, int *distances, unsigned *changed)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || distances[i] != distance) return;
    for (unsigned k = starts[i]; k < starts[i + 1]; k++) {
        unsigned j = neighbours[k];
        if (distances[j] < 0) {
            distances[j] = distance + 1;
            *changed = 1;
        }
    }
}
