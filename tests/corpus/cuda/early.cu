__global__ void k(int *x, int n)
{
    if (n < 0) __trap();
    if (n == 1) return;
    if (n == 2) asm volatile("exit;");
    if (n == 3) __brkpt();
    if (n == 4) __builtin_unreachable();
    do { n = n * 3 + 1; if (n & 64) continue; if (n > 5000) break; x[n & 7]++; } while (n % 7);
    goto end; end: x[0] = __builtin_expect(n, 3);
}
