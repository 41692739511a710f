// Sorts 64 numbers. FAULT: no barrier between the rounds.
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    for (int size = 2; size <= 64; size *= 2)
        for (int step = size / 2; step > 0; step /= 2) {
            int other = t ^ step;
            if (other > t) {
                int a = s[t], b = s[other]; //@ get
                bool up = (t & size) == 0;
                s[t] = up == (a < b) ? a : b; //@ put
                s[other] = up == (a < b) ? b : a; //@ put
            }
#ifndef FAULT
            __syncthreads();
#endif
        }
    __syncthreads();
    out[t] = s[t];
}
