// Bilinear resize, one pixel of the result per thread. The texture does the filtering: it is looked up at the middle of
// the pixel, in coordinates from 0 to 1, and its bytes are read as fractions. The result is written through a surface.
//
// A surface counts bytes in its first direction, so the column is multiplied by the size of a pixel.

extern "C" __global__ void resize(cudaTextureObject_t source, cudaSurfaceObject_t target, unsigned int width,
                                  unsigned int height)
{
    unsigned int column = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height)
        return;

    float u = __fdiv_rn((float)column + 0.5f, (float)width);
    float v = __fdiv_rn((float)row + 0.5f, (float)height);
    float4 pixel = tex2D<float4>(source, u, v);
    uchar4 bytes = make_uchar4(__float2uint_rn(pixel.x * 255.0f), __float2uint_rn(pixel.y * 255.0f),
                               __float2uint_rn(pixel.z * 255.0f), __float2uint_rn(pixel.w * 255.0f));
    surf2Dwrite(bytes, target, column * sizeof(uchar4), row);
}
