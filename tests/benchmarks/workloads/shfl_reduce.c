static float halved(float *v, unsigned count)
{
    for (unsigned d = count / 2; d > 0; d >>= 1)
        for (unsigned l = 0; l < d; l++) v[l] += v[l + d];
    return v[0];
}

void shfl_reduce(unsigned blocks, const float *restrict in, float *restrict out)
{
    for (unsigned b = 0; b < blocks; b++) {
        float part[8], v[32];
        for (unsigned w = 0; w < 8; w++) {
            for (unsigned l = 0; l < 32; l++) v[l] = in[b * 256 + w * 32 + l];
            part[w] = halved(v, 32);
        }
        out[b] = halved(part, 8);
    }
}
