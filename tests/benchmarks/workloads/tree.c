void tree(unsigned blocks, const float *restrict in, float *restrict out)
{
    for (unsigned b = 0; b < blocks; b++) {
        float part[128];
        for (unsigned t = 0; t < 128; t++) part[t] = in[b * 256 + t] + in[b * 256 + t + 128];
        for (unsigned half = 64; half > 0; half >>= 1)
            for (unsigned t = 0; t < half; t++) part[t] += part[t + half];
        out[b] = part[0];
    }
}
