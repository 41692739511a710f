__attribute__((noinline)) static unsigned churn(unsigned *buffer, unsigned stride, unsigned seed, unsigned rounds)
{
    unsigned sum = seed;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned *at = buffer + (sum >> 16 & 7) * stride;
        sum = sum * 1664525u + 1013904223u + *at;
        *at = sum ^ r;
    }
    return sum;
}

void generic(unsigned n, unsigned rounds, const unsigned *in, unsigned *rows, unsigned *out)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned shared[8], local[8];
        for (unsigned j = 0; j < 8; j++) shared[j] = local[j] = rows[j * n + i] = j;
        unsigned seed = in[i], kind = seed % 3;
        unsigned sum = churn(kind == 0 ? shared : kind == 1 ? local : rows + i, kind == 2 ? n : 1, seed, rounds);
        for (unsigned j = 0; j < 8; j++) sum += shared[j] ^ local[j];
        out[i] = sum;
    }
}
