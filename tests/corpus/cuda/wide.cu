typedef unsigned __int128 u128; typedef __int128 i128;
__global__ void k(u128 *x, i128 *y)
{
    x[0] = x[1] + x[2] * x[3]; x[4] = x[5] << 17 | x[6] >> 3; y[0] = -y[1] - y[2]; x[7] = x[8] < x[9];
}
__device__ __noinline__ u128 twice(u128 a) { return a + a; }
__global__ void q(u128 *x) { x[0] = twice(x[1]); }
