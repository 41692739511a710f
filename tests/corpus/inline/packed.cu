// sm_86 sm_90: two halves at once
__global__ void k(unsigned *x, unsigned short *y)
{
    unsigned r;
    asm("{add.f16x2 %0,%1,%2;\n}" : "=r"(r) : "r"(x[0]), "r"(x[1]));
    asm("{fma.rn.relu.f16x2 %0,%1,%2,%3;\n}" : "=r"(x[2]) : "r"(r), "r"(x[1]), "r"(x[3]));
    asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(x[4]) : "r"(r), "r"(x[1]), "r"(x[3]));
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(x[5]) : "r"(r), "r"(x[1]));
    asm("min.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(x[6]) : "r"(r), "r"(x[1]));
    asm("{ .reg .f16 a, b; mov.b32 {a, b}, %1; mul.ftz.f16 a, a, b; mov.b16 %0, a; }" : "=h"(y[0]) : "r"(r));
    asm("ex2.approx.f16x2 %0, %1;" : "=r"(x[7]) : "r"(r));
    asm("tanh.approx.f16x2 %0, %1;" : "=r"(x[8]) : "r"(r));
    asm("set.gtu.f16x2.f16x2 %0, %1, %2;" : "=r"(x[9]) : "r"(r), "r"(x[1]));
    asm("abs.bf16x2 %0, %1;" : "=r"(x[10]) : "r"(r));
}
