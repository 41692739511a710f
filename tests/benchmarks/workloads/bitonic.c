#define N 1024

void bitonic(unsigned count, unsigned *keys)
{
    for (unsigned c = 0; c < count; c++) {
        unsigned *restrict s = keys + c * N;
        for (unsigned size = 2; size <= N; size *= 2)
            for (unsigned d = size / 2; d > 0; d /= 2)
                for (unsigned first = 0; first < N; first += 2 * d)
                    for (unsigned i = first; i < first + d; i++) {
                        unsigned a = s[i], b = s[i + d], low = a < b ? a : b, high = a < b ? b : a;
                        s[i] = i & size ? high : low;
                        s[i + d] = i & size ? low : high;
                    }
    }
}
