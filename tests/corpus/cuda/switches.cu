__device__ __noinline__ int step(int op, int a, int b)
{
    switch (op) {
    case 0: return a + b; case 1: return a - b; case 2: return a * b; case 3: return b ? a / b : 0;
    case 4: return a & b; case 5: return a | b; case 6: return a ^ b; case 7: return a << (b & 31);
    case 8: return a >> (b & 31); case 20: return ~a; default: return b ? a % b : 1;
    }
}
__global__ void k(const int *code, int *r, int n) { int a = 1; for (int i = 0; i < n; i++) a = step(code[i], a, i); *r = a; }
