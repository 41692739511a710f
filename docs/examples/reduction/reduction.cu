// Sums n integers and n floating-point numbers; each block writes one partial sum of either kind.
// Every thread first adds up elements at a distance of the whole grid. A tree in shared memory then
// adds up the sums of the threads of a block. The block size must be a power of two, 256 at most.
//
// Integer addition is associative and the floating-point one is not: the partial sums of `x` depend
// on the order that the grid and the tree fix.

#define MAX_THREADS 256

extern "C" __global__ void reduction(unsigned int n, const unsigned int *u, const float *x,
                                     unsigned int *u_sums, float *x_sums)
{
    __shared__ unsigned int u_part[MAX_THREADS];
    __shared__ float x_part[MAX_THREADS];

    unsigned int t = threadIdx.x;
    unsigned int u_sum = 0;
    float x_sum = 0.0f;

    for (unsigned int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) {
        u_sum += u[i];
        x_sum += x[i];
    }
    u_part[t] = u_sum;
    x_part[t] = x_sum;
    __syncthreads();

    // Halve the number of active threads in each step.
    for (unsigned int half = blockDim.x / 2; half > 0; half /= 2) {
        if (t < half) {
            u_part[t] += u_part[t + half];
            x_part[t] += x_part[t + half];
        }
        __syncthreads();
    }

    if (t == 0) {
        u_sums[blockIdx.x] = u_part[0];
        x_sums[blockIdx.x] = x_part[0];
    }
}
