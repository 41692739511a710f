__global__ void k(void *p, int *x, const __grid_constant__ int g)
{
    __shared__ int s; int l = x[0];
    x[1] = __isGlobal(p) + 2 * __isShared(p) + 4 * __isLocal(p) + 8 * __isConstant(p);
    int *q = x[2] ? &s : x[3] ? &l : x; *q = 5; __syncthreads(); x[4] = s + l; x[5] = *(&g + 0);
    x[6] = (int)__cvta_generic_to_shared(&s);
}
