__global__ void k(unsigned *x)
{
    unsigned a = x[0], b = x[1];
    x[2] = __vadd2(a, b) ^ __vadd4(a, b) ^ __vabsdiffu4(a, b) ^ __vmaxs2(a, b) ^ __vcmpgtu4(a, b) ^ __vsubss4(a, b);
    x[3] = __vavgs4(a, b) ^ __vavgu2(a, b) ^ __vsads4(a, b) ^ __vseteq2(a, b) ^ __vminu4(a, b) ^ __vhaddu4(a, b) ^ __vneg2(a);
    x[4] = __sad(a, b, 3) + __usad(a, b, 4) + __byte_perm(a, b, 0x3715);
}
