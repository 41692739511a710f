// sm_89 sm_90 sm_100: formats of eight bits
__global__ void k(float const *x, unsigned short *y, unsigned *z)
{
    unsigned short a, b; unsigned h;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(a) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.satfinite.relu.e5m2x2.f32 %0, %1, %2;" : "=h"(b) : "f"(x[1]), "f"(x[0]));
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(a));
    asm("cvt.rn.satfinite.e5m2x2.f16x2 %0, %1;" : "=h"(a) : "r"(h));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(z[1]) : "f"(x[2]));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(z[2]) : "f"(x[2]), "f"(x[3]));
    asm("cvt.rn.relu.f16x2.f32 %0, %1, %2;" : "=r"(z[3]) : "f"(x[2]), "f"(x[3]));
    asm("cvt.pack.sat.s8.s32.b32 %0, %1, %2, %3;" : "=r"(z[4]) : "r"(z[5]), "r"(z[6]), "r"(0));
    y[0] = a; y[1] = b; z[0] = h;
}
