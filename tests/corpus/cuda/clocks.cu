__global__ void k(long long *x, unsigned *u)
{
    long long a = clock64(); clock_t b = clock();
    __nanosleep(100);
    x[threadIdx.x] = clock64() - a; u[0] = clock() - b; u[1] = warpSize; u[2] = gridDim.y * blockDim.z + blockIdx.z;
    __prof_trigger(3);
}
