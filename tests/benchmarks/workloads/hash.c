void hash(unsigned n, unsigned rounds, const unsigned *restrict in, unsigned *restrict out)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned h = in[i] ^ i;
        unsigned long long wide = 0x9e3779b97f4a7c15ull * (i + 1);
        for (unsigned r = 0; r < rounds; r++) {
            h ^= h >> 16;
            h *= 0x85ebca6bu;
            h = h << 13 | h >> 19;
            h += __builtin_popcount((unsigned)wide) * 0xc2b2ae35u;
            wide ^= wide >> 29;
            wide = wide * 0xbf58476d1ce4e5b9ull + h;
            h ^= (unsigned)(wide >> 32);
        }
        out[i] = h;
    }
}
