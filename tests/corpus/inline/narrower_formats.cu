// sm_100a sm_120a sm_103a: formats of six and of four bits, and scales
__global__ void k(float const *x, unsigned short *y, unsigned *z)
{
    unsigned short a, b, c; unsigned h, s;
    asm("cvt.rn.satfinite.e2m3x2.f32 %0, %1, %2;" : "=h"(a) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.e3m2x2.f32 %0, %1, %2;" : "=h"(b) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rz.satfinite.ue8m0x2.f32 %0, %1, %2;" : "=h"(c) : "f"(x[1]), "f"(x[0]));
    asm("{ .reg .b8 q; cvt.rn.satfinite.e2m1x2.f32 q, %1, %2; mov.b32 %0, {q, q, q, q}; }" : "=r"(s) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.f16x2.e2m3x2 %0, %1;" : "=r"(h) : "h"(a));
    asm("cvt.rn.bf16x2.ue8m0x2 %0, %1;" : "=r"(z[3]) : "h"(c));
    y[0] = a; y[1] = b; y[2] = c; z[0] = h; z[1] = s;
}
