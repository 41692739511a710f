void votes(unsigned n, unsigned rounds, const unsigned *restrict in, unsigned *restrict out)
{
    for (unsigned first = 0; first < n; first += 32) {
        unsigned v[32];
        for (unsigned l = 0; l < 32; l++) v[l] = in[first + l];
        for (unsigned r = 0; r < rounds; r++) {
            unsigned odd = 0, signs = 0, any = 0, every = 1, of_value[8] = {0};
            for (unsigned l = 0; l < 32; l++) {
                odd |= (v[l] & 1) << l;
                signs |= (v[l] >> 31) << l;
                any |= (v[l] & 63) == 63;
                every &= (v[l] & 3) != 0;
                of_value[v[l] >> 4 & 7] |= 1u << l;
            }
            unsigned mask = signs == 0 || signs == 0xffffffffu ? 0xffffffffu : 3;
            for (unsigned l = 0; l < 32; l++) {
                unsigned change = __builtin_popcount(odd & ((1u << l) - 1)) + __builtin_popcount(of_value[v[l] >> 4 & 7]) * 7 + mask;
                if (any) change ^= 0x5bd1e995u;
                if (every) change += l;
                v[l] = (v[l] ^ v[l] >> 13) * 0x85ebca6bu + change;
            }
        }
        for (unsigned l = 0; l < 32; l++) out[first + l] = v[l];
    }
}
