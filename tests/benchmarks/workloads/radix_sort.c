void radix_sort(unsigned n, unsigned *keys, unsigned *other, unsigned *counts)
{
    (void)counts;
    for (unsigned shift = 0; shift < 32; shift += 4) {
        unsigned next[16] = {0}, sum = 0;
        for (unsigned i = 0; i < n; i++) next[keys[i] >> shift & 15]++;
        for (unsigned d = 0; d < 16; d++) {
            unsigned count = next[d];
            next[d] = sum;
            sum += count;
        }
        for (unsigned i = 0; i < n; i++) other[next[keys[i] >> shift & 15]++] = keys[i];
        unsigned *kept = keys;
        keys = other;
        other = kept;
    }
}
