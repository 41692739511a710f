// A function finds the place of a number. FAULT: it says nothing where there is none, and its caller does not ask.
__device__ __noinline__ bool find(const int *row, int x, int *place)
{
#pragma unroll 1
    for (int i = 0; i < 4; i++)
        if (row[i] == x) {
            *place = i;
            return true;
        }
    return false;
}
extern "C" __global__ void k(const int *in, int x, int *out)
{
    int place;
    bool found = find(in + threadIdx.x * 4, x, &place);
#ifdef FAULT
    out[threadIdx.x] = found + 2 * place; //@ use
#else
    out[threadIdx.x] = found ? 1 + 2 * place : 0;
#endif
}
