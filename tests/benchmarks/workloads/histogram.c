void histogram(unsigned n, const unsigned *restrict in, unsigned *restrict counts)
{
    for (unsigned i = 0; i < n; i++)
        for (unsigned shift = 0; shift < 32; shift += 8) counts[in[i] >> shift & 255]++;
}
