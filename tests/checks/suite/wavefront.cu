// Each CTA computes a row, behind the one above it. FAULT: it tells of an element before it has stored it.
extern "C" __global__ void k(int *cells, volatile int *reached)
{
    int row = blockIdx.x, n = 8;
    for (int i = 0; i < n; i++) {
        int above = 1;
        if (row > 0) {
            while (reached[row - 1] <= i) {
            }
            __threadfence();
            above = cells[(row - 1) * n + i]; //@ get
        }
        int left = i > 0 ? cells[row * n + i - 1] : 1;
#ifdef FAULT
        __threadfence();
        reached[row] = i + 1;
        cells[row * n + i] = above + left; //@ put
#else
        cells[row * n + i] = above + left;
        __threadfence();
        reached[row] = i + 1;
#endif
    }
}
