__global__ void k(float *x, double *d)
{
    x[0] = __sinf(x[1]) + __cosf(x[2]) + __expf(x[3]) + __logf(x[4]) + __powf(x[5], x[6]) + __tanf(x[7]) + __log2f(x[8]) + __exp10f(x[9]);
    x[10] = __fdividef(x[11], x[12]) + __frcp_rn(x[13]) + __fsqrt_rd(x[14]) + __frsqrt_rn(x[15]) + __fdiv_ru(x[16], x[17]);
    x[18] = __fadd_rz(x[19], x[20]) + __fmul_rd(x[21], x[22]) + __fmaf_ru(x[23], x[24], x[25]) + __fsub_rn(x[26], x[27]);
    d[0] = __dadd_rd(d[1], d[2]) + __dmul_ru(d[3], d[4]) + __fma_rz(d[5], d[6], d[7]) + __ddiv_rn(d[8], d[9]) + __drcp_rz(d[10]) + __dsqrt_ru(d[11]);
    x[28] = fminf(x[29], x[30]) + fmaxf(x[31], 0) + fabsf(x[32]) + exp2f(x[33]) + copysignf(x[34], x[35]);
}
