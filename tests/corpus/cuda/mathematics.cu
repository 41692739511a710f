__global__ void k(float *x, double *d)
{
    x[0] = sinf(x[1]) + cosf(x[2]); x[3] = expf(x[4]) + logf(x[5]); x[6] = powf(x[7], x[8]); x[9] = rsqrtf(x[10]) + sqrtf(x[11]) + cbrtf(x[12]);
    x[13] = tanhf(x[14]) + atan2f(x[15], x[16]) + fmodf(x[17], x[18]); x[19] = erff(x[20]) + lgammaf(x[21]);
    d[0] = sqrt(d[1]) + 1 / d[2] + d[3] / d[4]; d[5] = exp(d[6]) + log(d[7]); d[8] = fma(d[9], d[10], d[11]) + fmin(d[12], fabs(d[13]));
}
