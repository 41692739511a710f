struct Big { int a[5]; double d; char c; };
struct Pair { short x; float y; };
__device__ __noinline__ Big change(Big b, Pair p) { b.a[p.x & 3] += (int)p.y; b.c++; b.d *= 2; return b; }
__device__ __noinline__ Pair swap(Pair p) { Pair q; q.x = (short)p.y; q.y = p.x; return q; }
__global__ void k(Big *out, Big in, Pair p) { *out = change(in, swap(p)); }
