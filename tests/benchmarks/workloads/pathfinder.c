static int least(int a, int b)
{
    return a < b ? a : b;
}

void pathfinder(int n, int rows, const int *costs, int *from, int *to)
{
    for (int row = 0; row < rows; row++) {
        const int *restrict above = row & 1 ? to : from, *restrict cost = costs + row * n;
        int *restrict next = row & 1 ? from : to;
        next[0] = least(above[0], above[1]) + cost[0];
        for (int x = 1; x < n - 1; x++) next[x] = least(least(above[x - 1], above[x + 1]), above[x]) + cost[x];
        next[n - 1] = least(above[n - 2], above[n - 1]) + cost[n - 1];
    }
}
