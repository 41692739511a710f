void warp_scan(unsigned blocks, const unsigned *restrict in, unsigned *restrict out)
{
    for (unsigned b = 0; b < blocks; b++) {
        unsigned sum = 0;
        for (unsigned t = 0; t < 1024; t++) out[b * 1024 + t] = sum += in[b * 1024 + t];
    }
}
