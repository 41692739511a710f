// sm_90: a product of doubles
__global__ void k(double *out, double const *in)
{
    double d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(d0), "+d"(d1) : "d"(in[0]), "d"(in[1]));
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(d0), "+d"(d1), "+d"(d2), "+d"(d3) : "d"(in[0]), "d"(in[1]), "d"(in[2]), "d"(in[3]), "d"(in[4]), "d"(in[5]));
    out[0] = d0; out[1] = d1; out[2] = d2; out[3] = d3;
}
