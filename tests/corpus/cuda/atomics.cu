__global__ void k(int *i, unsigned *u, unsigned long long *l, float *f, double *d)
{
    atomicAdd(i, 1); atomicSub(i + 1, 2); atomicExch(i + 2, 3); atomicMin(i + 3, 4); atomicMax(i + 4, 5);
    atomicInc(u, 6); atomicDec(u + 1, 7); atomicCAS(u + 2, 8, 9); atomicAnd(u + 3, 10); atomicOr(u + 4, 11);
    u[6] = atomicXor(u + 5, 12); l[1] = atomicAdd(l, 13ull); atomicMax(l + 2, 14ull); f[1] = atomicAdd(f, 1.5f);
    d[1] = atomicAdd(d, 2.5); atomicAdd_system(i + 5, 1); atomicAdd_block(i + 6, 1); atomicCAS((unsigned short *)u, (unsigned short)1, (unsigned short)2);
}
