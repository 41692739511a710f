void bfs(unsigned n, const unsigned *restrict starts, const unsigned *restrict neighbours, int *restrict distances, unsigned *restrict changed)
{
    int distance = 0;
    do {
        *changed = 0;
        for (unsigned i = 0; i < n; i++) {
            if (distances[i] != distance) continue;
            for (unsigned k = starts[i]; k < starts[i + 1]; k++) {
                unsigned j = neighbours[k];
                if (distances[j] < 0) {
                    distances[j] = distance + 1;
                    *changed = 1;
                }
            }
        }
        distance++;
    } while (*changed);
}
