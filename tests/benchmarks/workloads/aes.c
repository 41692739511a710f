static unsigned turned(unsigned v, unsigned by)
{
    return v >> by | v << (32 - by);
}

void aes(
    unsigned n, const unsigned *restrict keys, const unsigned *restrict mixed, const unsigned char *restrict last,
    const unsigned *restrict in, unsigned *restrict out)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned s[4], t[4];
        for (unsigned c = 0; c < 4; c++) s[c] = in[4 * i + c] ^ keys[c];
        for (unsigned round = 1; round < 10; round++) {
            for (unsigned c = 0; c < 4; c++) {
                unsigned a = mixed[s[c] >> 24], b = mixed[s[(c + 1) % 4] >> 16 & 255];
                unsigned d = mixed[s[(c + 2) % 4] >> 8 & 255], e = mixed[s[(c + 3) % 4] & 255];
                t[c] = a ^ turned(b, 8) ^ turned(d, 16) ^ turned(e, 24) ^ keys[4 * round + c];
            }
            for (unsigned c = 0; c < 4; c++) s[c] = t[c];
        }
        for (unsigned c = 0; c < 4; c++) {
            unsigned high = (unsigned)last[s[c] >> 24] << 24 | last[s[(c + 1) % 4] >> 16 & 255] << 16;
            out[4 * i + c] = (high | last[s[(c + 2) % 4] >> 8 & 255] << 8 | last[s[(c + 3) % 4] & 255]) ^ keys[40 + c];
        }
    }
}
