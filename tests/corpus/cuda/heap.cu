__global__ void k(int **out, size_t n)
{
    int *p = (int *)malloc(n * sizeof(int));
    if (!p) return;
    memset(p, 0, n * sizeof(int));
    out[threadIdx.x] = p;
    if (n > 100) free(p);
}
