// sm_100 sm_120 sm_103a: two singles at once, three operands, wide accesses
__global__ void k(unsigned long long *x, float *y, unsigned *z)
{
    asm("add.rn.f32x2 %0, %1, %2;" : "=l"(x[0]) : "l"(x[1]), "l"(x[2]));
    asm("mul.rz.ftz.f32x2 %0, %1, %2;" : "=l"(x[3]) : "l"(x[1]), "l"(x[2]));
    asm("fma.rn.f32x2 %0, %1, %2, %3;" : "=l"(x[4]) : "l"(x[1]), "l"(x[2]), "l"(x[3]));
    asm("max.f32 %0, %1, %2, %3;" : "=f"(y[0]) : "f"(y[1]), "f"(y[2]), "f"(y[3]));
    asm("min.NaN.abs.f32 %0, %1, %2, %3;" : "=f"(y[4]) : "f"(y[1]), "f"(y[2]), "f"(y[3]));
    asm volatile("ld.global.v8.b32 {%0,%1,%2,%3,%4,%5,%6,%7}, [%8];"
                 : "=r"(z[0]), "=r"(z[1]), "=r"(z[2]), "=r"(z[3]), "=r"(z[4]), "=r"(z[5]), "=r"(z[6]), "=r"(z[7]) : "l"(z + 64));
    asm volatile("st.global.v4.b64 [%0], {%1,%2,%3,%4};" :: "l"(x + 64), "l"(x[1]), "l"(x[2]), "l"(x[3]), "l"(x[4]) : "memory");
}
