// Functions that are not inlined, one of which calls another, and one of which returns a structure.

struct Pair {
    unsigned low, high;
};

__device__ __noinline__ unsigned turned(unsigned v, unsigned by)
{
    return v << (by & 31) | v >> (-by & 31);
}

__device__ __noinline__ Pair crossed(Pair p, unsigned key)
{
    Pair next = {p.high ^ turned(p.low + key, p.high), p.low * 5 + turned(p.high, 7)};
    return next;
}

extern "C" __global__ void calls(unsigned n, unsigned rounds, const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair p = {in[i], i};
    for (unsigned r = 0; r < rounds; r++) p = crossed(p, r);
    out[i] = p.low ^ p.high;
}
