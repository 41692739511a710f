// Two buffers in turn need one barrier for each step. FAULT: there is one buffer.
#ifdef FAULT
#define BUFFER(i) buffer[0]
#else
#define BUFFER(i) buffer[(i) & 1]
#endif
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int buffer[2][64];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 4; i++) {
        BUFFER(i)[t] = in[i * 64 + t]; //@ put
        __syncthreads();
        sum += BUFFER(i)[(t + 1) % 64]; //@ get
    }
    out[t] = sum;
}
