// sm_89 sm_120: products of eight-bit floating point
__global__ void k(float *d, unsigned const *a, unsigned const *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
    unsigned h0 = a[0], h1 = a[1];
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e5m2.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
                 : "+r"(h0), "+r"(h1) : "r"(a[0]), "r"(a[1]), "r"(b[0]));
    d[4] = __uint_as_float(h0 ^ h1);
}
