__global__ void k(unsigned *x, float *f, unsigned long long *l)
{
    unsigned r, p; float s; unsigned long long g; unsigned short h;
    asm("bfe.u32 %0, %1, 4, 8;" : "=r"(r) : "r"(x[0]));
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; selp.u32 %0, 1, 2, p; }" : "=r"(p) : "r"(x[1]));
    asm("lop3.b32 %0, %1, %2, %3, 0xe8;" : "=r"(x[3]) : "r"(r), "r"(p), "r"(x[2]));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(s) : "f"(f[0]));
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g));
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(x[5]));
    asm("prmt.b32 %0, %1, %2, 0x3210;" : "=r"(x[6]) : "r"(r), "r"(p));
    asm("cvt.u16.u32 %0, %1;" : "=h"(h) : "r"(r));
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x[7]) : "l"(x + 9) : "memory");
    asm volatile("membar.gl; // a comment" ::: "memory");
    asm("{\n\t.reg .u32 t1;\n\tmul.lo.u32 t1, %1, %1;\n\tadd.u32 %0, t1, 1;\n}" : "=r"(x[8]) : "r"(r));
    f[1] = s; l[0] = g + h;
}
