#define N 32

void local_sort(unsigned n, const int *restrict in, int *restrict out)
{
    for (unsigned i = 0; i < n; i++) {
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
}
