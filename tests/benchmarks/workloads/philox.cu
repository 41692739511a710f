// Random numbers by counters: ten rounds of products of 32 bits, of which both halves count.

extern "C" __global__ void philox(unsigned n, unsigned each, unsigned key0, unsigned key1, uint4 *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (unsigned e = 0; e < each; e++) {
        unsigned a = i, b = e, c = 0, d = 0, k0 = key0, k1 = key1;
        for (unsigned round = 0; round < 10; round++) {
            unsigned high0 = __umulhi(0xd2511f53u, a), low0 = 0xd2511f53u * a;
            unsigned high1 = __umulhi(0xcd9e8d57u, c), low1 = 0xcd9e8d57u * c;
            a = high1 ^ b ^ k0;
            b = low1;
            c = high0 ^ d ^ k1;
            d = low0;
            k0 += 0x9e3779b9u;
            k1 += 0xbb67ae85u;
        }
        out[e * n + i] = make_uint4(a, b, c, d);
    }
}
