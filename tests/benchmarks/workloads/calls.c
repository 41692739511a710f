struct Pair {
    unsigned low, high;
};

__attribute__((noinline)) static unsigned turned(unsigned v, unsigned by)
{
    return v << (by & 31) | v >> (-by & 31);
}

__attribute__((noinline)) static struct Pair crossed(struct Pair p, unsigned key)
{
    struct Pair next = {p.high ^ turned(p.low + key, p.high), p.low * 5 + turned(p.high, 7)};
    return next;
}

void calls(unsigned n, unsigned rounds, const unsigned *restrict in, unsigned *restrict out)
{
    for (unsigned i = 0; i < n; i++) {
        struct Pair p = {in[i], i};
        for (unsigned r = 0; r < rounds; r++) p = crossed(p, r);
        out[i] = p.low ^ p.high;
    }
}
