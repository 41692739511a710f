__global__ void k(int *x, const int *index)
{
    int a[17]; float b[4]; char c[9];
    for (int i = 0; i < 17; i++) a[i] = x[i] * i;
    for (int i = 0; i < 4; i++) b[i] = i * .5f;
    for (int i = 0; i < 9; i++) c[i] = x[i];
    x[0] = a[index[0]] + (int)b[index[1]] + c[index[2]]; a[index[3]] = 4; x[1] = a[index[4]];
}
