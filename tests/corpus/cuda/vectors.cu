__global__ void k(float4 *a, int2 *b, double2 *c, uchar4 *d, ushort2 *e, longlong2 *f, float3 *g)
{
    float4 v = a[threadIdx.x]; v.x += v.w; a[threadIdx.x + 1] = v;
    int2 w = b[0]; b[1] = make_int2(w.y, w.x); double2 u = c[0]; c[1] = make_double2(u.y, u.x + 1);
    uchar4 p = d[0]; p.z += p.y; d[1] = p; ushort2 q = e[0]; e[1] = make_ushort2(q.y, q.x); f[1] = f[0]; g[1] = g[0];
}
