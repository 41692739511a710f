// A record in shared memory. FAULT: one of its members is set by nobody.
struct Record {
    int key, count;
};
extern "C" __global__ void k(const int *in, int *out)
{
    __shared__ Record records[32];
    int t = threadIdx.x;
    records[t].key = in[t];
#ifndef FAULT
    records[t].count = t;
#endif
    __syncthreads();
    Record other = records[31 - t]; //@ from
    out[t] = other.key + other.count; //@ use
}
