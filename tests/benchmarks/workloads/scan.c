static void sweep(unsigned *s, unsigned *total)
{
    for (unsigned d = 256, offset = 1; d > 0; d >>= 1, offset *= 2)
        for (unsigned t = 0; t < d; t++) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
    *total = s[511];
    s[511] = 0;
    for (unsigned d = 1, offset = 256; d < 512; d *= 2, offset >>= 1)
        for (unsigned t = 0; t < d; t++) {
            unsigned low = offset * (2 * t + 1) - 1, high = offset * (2 * t + 2) - 1, kept = s[low];
            s[low] = s[high];
            s[high] += kept;
        }
}

// the blocks' totals are scanned as one block
void scan(unsigned blocks, const unsigned *in, unsigned *out, unsigned *totals, unsigned *before, unsigned *rest)
{
    for (unsigned i = 0; i < blocks * 512; i++) out[i] = in[i];
    for (unsigned b = 0; b < blocks; b++) sweep(out + b * 512, totals + b);
    for (unsigned i = 0; i < 512; i++) before[i] = totals[i];
    sweep(before, rest);
    for (unsigned b = 0; b < blocks; b++)
        for (unsigned i = 0; i < 512; i++) out[b * 512 + i] += before[b];
}
