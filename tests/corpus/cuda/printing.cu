#include <cstdio>
#include <cassert>
__global__ void k(int n, double d)
{
    assert(n > 0);
    if (threadIdx.x == 0)
        printf("n = %d, d = %f, %s\n", n, d, "end");
}
