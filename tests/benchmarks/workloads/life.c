static void generation(unsigned n, const unsigned char *restrict from, unsigned char *restrict to)
{
    for (unsigned y = 0; y < n; y++) {
        const unsigned char *up = from + (y ? y - 1 : n - 1) * n, *here = from + y * n, *down = from + (y + 1 < n ? y + 1 : 0) * n;
        for (unsigned x = 0; x < n; x++) {
            unsigned left = x ? x - 1 : n - 1, right = x + 1 < n ? x + 1 : 0;
            unsigned count = up[left] + up[x] + up[right] + here[left] + here[right] + down[left] + down[x] + down[right];
            to[y * n + x] = count == 3 || (count == 2 && here[x]);
        }
    }
}

void life(unsigned n, unsigned generations, unsigned char *from, unsigned char *to)
{
    for (unsigned g = 0; g < generations; g++) generation(n, g % 2 ? to : from, g % 2 ? from : to);
}
