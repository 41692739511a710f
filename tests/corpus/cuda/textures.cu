__global__ void k(cudaTextureObject_t t, float *f, cudaSurfaceObject_t s)
{
    f[0] = tex2D<float>(t, 0.5f, 1.5f); f[1] = tex1Dfetch<float>(t, 3);
    surf2Dwrite(f[0], s, 4, 5);
}
