__global__ void mandelbrot(unsigned char *out, int w, float x0, float y0, float step)
{
    float a = x0 + step * (blockIdx.x * blockDim.x + threadIdx.x), b = y0 + step * blockIdx.y, x = 0, y = 0;
    int i = 0;
    while (x * x + y * y < 4.f && i < 255) { float t = x * x - y * y + a; y = 2 * x * y + b; x = t; i++; }
    out[blockIdx.y * w + blockIdx.x * blockDim.x + threadIdx.x] = i;
}
