// sm_75 sm_90 sm_121: long multiplication, funnels, bytes, tables of logic
__global__ void k(unsigned *x, unsigned long long *y, int *s)
{
    asm volatile("{\n\t.reg .u32 lo, hi;\n\tmad.lo.cc.u32 lo, %2, %3, %4;\n\tmadc.hi.cc.u32 hi, %2, %3, 0;\n\taddc.u32 %1, 0, 0;\n\tmov.b32 %0, lo;\n\tadd.u32 %1, %1, hi;\n}"
                 : "=r"(x[0]), "=r"(x[1]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("add.cc.u64 %0, %1, %2;" : "=l"(y[0]) : "l"(y[1]), "l"(y[2]));
    asm("subc.s32 %0, %1, %2;" : "=r"(s[0]) : "r"(s[1]), "r"(s[2]));
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(x[5]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(x[6]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("prmt.b32.f4e %0, %1, %2, %3;" : "=r"(x[7]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(s[3]) : "r"(s[1]), "r"(x[2]), "r"(s[2]));
    asm("dp2a.lo.u32.u32 %0, %1, %2, %3;" : "=r"(x[8]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("bfind.shiftamt.s64 %0, %1;" : "=r"(x[9]) : "l"(y[3]));
    asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(x[10]) : "r"(x[2]), "r"(x[3]));
    asm("szext.wrap.s32 %0, %1, %2;" : "=r"(s[4]) : "r"(s[1]), "r"(x[3]));
    asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(x[11]) : "r"(x[2]), "r"(x[3]), "r"(x[4]));
    asm("mul24.hi.s32 %0, %1, %2;" : "=r"(s[5]) : "r"(s[1]), "r"(s[2]));
    asm("bfi.b64 %0, %1, %2, %3, %4;" : "=l"(y[4]) : "l"(y[1]), "l"(y[2]), "r"(8), "r"(x[1]));
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(x[12]) : "r"(x[2]), "r"(x[3]), "r"(s[1]));
    asm("fns.b32 %0, %1, %2, %3;" : "=r"(x[13]) : "r"(x[2]), "r"(x[3]), "r"(s[1]));
}
