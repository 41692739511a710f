union Any { float f; int i; unsigned char b[4]; short s[2]; };
struct Bits { unsigned a : 3; int b : 7; unsigned c : 1; unsigned long long d : 40; };
__global__ void k(Any *x, Bits *y) { Any v = x[0]; v.b[2] ^= 5; v.s[0]++; x[1].f = v.f * 2; y->a = y->b + 1; y->c ^= 1; y->d += y->a; y->b = v.i; }
