template <class A, class B> __device__ void c(A *a, const B *b) { *a = (A)*b; }
__global__ void k(void *o, const void *i)
{
#define EACH(A) c((A *)o, (const char *)i); c((A *)o + 1, (const unsigned short *)i); c((A *)o + 2, (const int *)i); \
    c((A *)o + 3, (const unsigned *)i); c((A *)o + 4, (const long long *)i); c((A *)o + 5, (const float *)i); c((A *)o + 6, (const double *)i);
    EACH(char) EACH(unsigned short) EACH(int) EACH(unsigned long long) EACH(float) EACH(double) EACH(bool)
    float f = *(const float *)i; double d = *(const double *)i; int *x = (int *)o;
    x[9] = __float2int_rn(f) + __float2int_ru(f) + __float2uint_rd(f) + __double2int_rz(d) + __double2hiint(d) + __float_as_int(f);
    ((float *)o)[8] = __int2float_rd(x[1]) + __double2float_ru(d) + __uint2float_rz(x[3]) + rintf(f) + truncf(f) + ceilf(f) + floorf(f) + __saturatef(f);
    ((double *)o)[9] = __ll2double_ru(x[2]) + rint(d) + floor(d) + __longlong_as_double(x[4]) + __hiloint2double(x[1], x[2]);
}
