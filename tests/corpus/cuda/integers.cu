__global__ void k(int *x, unsigned *u, long long *l, unsigned long long *m)
{
    x[0] = __mulhi(x[1], x[2]) + __mul24(x[1], x[3]) + __clz(x[4]) + __ffs(x[5]) + __hadd(x[6], x[7]) + __rhadd(x[1], x[2]);
    u[0] = __umulhi(u[1], u[2]) + __umul24(u[3], u[4]) + __brev(u[5]) + __popc(u[6]) + __funnelshift_l(u[1], u[2], u[3]) + __funnelshift_rc(u[4], u[5], u[6]);
    l[0] = __mul64hi(l[1], l[2]) + __clzll(l[3]) + __ffsll(l[4]) + l[5] / l[6] + l[7] % l[8];
    m[0] = __umul64hi(m[1], m[2]) + __brevll(m[3]) + __popcll(m[4]) + m[5] / m[6] + m[7] % 10;
    x[8] = x[9] / 7 + x[10] % 13 + abs(x[11]) + min(x[12], 5) + max(x[13], x[14]);
    u[8] = u[9] / 7 + u[10] % 13 + u[11] / u[12]; x[15] = (short)x[16] * (short)x[17] + (signed char)x[18];
}
