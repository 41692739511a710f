// A thread gathers odd numbers in a buffer that grows. FAULT: it forgets the old buffer when it has a new one.
extern "C" __global__ void k(const int *in, int n, int *out)
{
    int room = 2, count = 0;
    int *buffer = (int *)malloc(room * sizeof(int)); //@ first
    for (int i = 0; i < n; i++) {
        if (!(in[i] & 1))
            continue;
        if (count == room) {
            int *larger = (int *)malloc(2 * room * sizeof(int)); //@ got
            for (int j = 0; j < count; j++)
                larger[j] = buffer[j];
#ifndef FAULT
            free(buffer);
#endif
            buffer = larger;
            room *= 2;
        }
        buffer[count++] = in[i];
    }
    int sum = 0;
    for (int j = 0; j < count; j++)
        sum += buffer[j];
    *out = sum;
    free(buffer);
}
