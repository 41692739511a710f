// Transposes a matrix in place. FAULT: each thread moves one element, where it should exchange two.
extern "C" __global__ void k(int *a)
{
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, n = gridDim.x * 8;
#ifdef FAULT
    int other = a[x * n + y]; //@ get
    a[y * n + x] = other; //@ put
#else
    if (x < y) {
        int other = a[x * n + y];
        a[x * n + y] = a[y * n + x];
        a[y * n + x] = other;
    }
#endif
}
