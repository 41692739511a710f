// Counts digits in an array of the thread's. FAULT: half of it is zero, to begin with.
extern "C" __global__ void k(const int *in, int *out)
{
    int counts[8], t = threadIdx.x;
#pragma unroll 1
#ifdef FAULT
    for (int i = 0; i < 4; i++)
#else
    for (int i = 0; i < 8; i++)
#endif
        counts[(i + t) & 7] = 0;
#pragma unroll 1
    for (int i = 0; i < 4; i++)
        counts[in[t * 4 + i] & 7]++; //@ from
#pragma unroll 1
    for (int i = 0; i < 8; i++)
        out[t * 8 + i] = counts[i]; //@ use
}
