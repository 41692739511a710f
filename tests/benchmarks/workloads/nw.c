void nw(unsigned n, int penalty, const int *restrict similar, int *restrict score)
{
    unsigned width = n + 1;
    for (unsigned y = 0; y < n; y++)
        for (unsigned x = 0; x < n; x++) {
            int along = score[y * width + x] + similar[y * n + x];
            int above = score[y * width + x + 1], left = score[(y + 1) * width + x];
            int gap = (above > left ? above : left) - penalty;
            score[(y + 1) * width + x + 1] = along > gap ? along : gap;
        }
}
