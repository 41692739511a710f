static unsigned high(unsigned a, unsigned b)
{
    return (unsigned long long)a * b >> 32;
}

void philox(unsigned n, unsigned each, unsigned key0, unsigned key1, unsigned *restrict out)
{
    for (unsigned e = 0; e < each; e++)
        for (unsigned i = 0; i < n; i++) {
            unsigned a = i, b = e, c = 0, d = 0, k0 = key0, k1 = key1;
            for (unsigned round = 0; round < 10; round++) {
                unsigned high0 = high(0xd2511f53u, a), low0 = 0xd2511f53u * a;
                unsigned high1 = high(0xcd9e8d57u, c), low1 = 0xcd9e8d57u * c;
                a = high1 ^ b ^ k0;
                b = low1;
                c = high0 ^ d ^ k1;
                d = low0;
                k0 += 0x9e3779b9u;
                k1 += 0xbb67ae85u;
            }
            unsigned *four = out + 4 * (e * n + i);
            four[0] = a;
            four[1] = b;
            four[2] = c;
            four[3] = d;
        }
}
