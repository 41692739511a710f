// Each thread sorts 32 keys in its local memory by insertion.

#define N 32

extern "C" __global__ void local_sort(unsigned n, const int *in, int *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v[N];
    for (unsigned j = 0; j < N; j++) {
        int key = in[i * N + j];
        unsigned at = j;
        while (at > 0 && v[at - 1] > key) {
            v[at] = v[at - 1];
            at--;
        }
        v[at] = key;
    }
    for (unsigned j = 0; j < N; j++) out[i * N + j] = v[j];
}
