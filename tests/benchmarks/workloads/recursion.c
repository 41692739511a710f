__attribute__((noinline)) static unsigned fib(unsigned n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

void recursion(unsigned n, const unsigned *depths, unsigned *out)
{
    for (unsigned i = 0; i < n; i++) out[i] = fib(depths[i]);
}
