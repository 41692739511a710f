void transpose(unsigned n, const float *restrict in, float *restrict out)
{
    for (unsigned y = 0; y < n; y += 32)
        for (unsigned x = 0; x < n; x += 32)
            for (unsigned i = y; i < y + 32; i++)
                for (unsigned j = x; j < x + 32; j++) out[j * n + i] = in[i * n + j];
}
