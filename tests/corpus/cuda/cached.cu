__global__ void k(const int *__restrict__ a, int *b, const float4 *v, float4 *w, double *d)
{
    b[0] = __ldg(a) + a[5]; w[0] = __ldg(v); b[1] = __ldcg(b + 2) + __ldca(b + 3) + __ldcs(b + 4) + __ldcv(b + 5) + __ldlu(b + 6);
    __stcg(b + 7, 1); __stcs(b + 8, 2); __stwb(b + 9, 3); __stwt(b + 10, 4); d[0] = __ldg(d + 1);
}
