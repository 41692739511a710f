// Each thread hands a buffer to the host. FAULT: it hands over a second one in the same place.
extern "C" __global__ void k(const int *in, int **handed)
{
    int t = threadIdx.x;
    int *volatile buffer = (int *)malloc(2 * sizeof(int)); //@ got
    buffer[0] = buffer[1] = in[t];
    handed[t] = buffer;
#ifdef FAULT
    if (in[t] & 1) {
        buffer = (int *)malloc(sizeof(int)); //@ second
        buffer[0] = in[t];
        handed[t] = buffer;
    }
#endif
}
