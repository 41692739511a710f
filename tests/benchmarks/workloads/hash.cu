// Integer mixing: products, shifts, rotations and bit counts on 32 and 64 bits.

extern "C" __global__ void hash(unsigned n, unsigned rounds, const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = in[i] ^ i;
    unsigned long long wide = 0x9e3779b97f4a7c15ull * (i + 1);
    for (unsigned r = 0; r < rounds; r++) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h = __funnelshift_l(h, h, 13);
        h += __popc((unsigned)wide) * 0xc2b2ae35u;
        wide ^= wide >> 29;
        wide = wide * 0xbf58476d1ce4e5b9ull + h;
        h ^= (unsigned)(wide >> 32);
    }
    out[i] = h;
}
