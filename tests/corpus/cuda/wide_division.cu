__global__ void k(unsigned __int128 *x, __int128 *y) { x[0] = x[1] / x[2]; y[0] = y[1] % y[2]; }
