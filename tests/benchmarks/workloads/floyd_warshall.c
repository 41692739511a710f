void floyd_warshall(unsigned n, unsigned *distances)
{
    for (unsigned k = 0; k < n; k++)
        for (unsigned y = 0; y < n; y++) {
            unsigned *restrict row = distances + y * n, first = row[k];
            const unsigned *restrict through = distances + k * n;
            if (y == k) continue;
            for (unsigned x = 0; x < n; x++) {
                unsigned around = first + through[x];
                row[x] = around < row[x] ? around : row[x];
            }
        }
}
