// Sums as many numbers as there are threads, 24, in a tree for 32. FAULT: the tree reads what no thread has filled.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = in[t];
#ifndef FAULT
    if (t < 8)
        tile[24 + t] = 0;
#endif
    __syncthreads();
    for (int half = 16; half > 0; half /= 2) {
        int other = t < half ? tile[t + half] : 0; //@ from
        __syncthreads();
        tile[t] += other; //@ from
        __syncthreads();
    }
    if (t == 0)
        out[0] = tile[0]; //@ use
}
