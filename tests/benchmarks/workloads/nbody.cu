// Accelerations of bodies that attract one another, all pairs, through tiles of bodies in shared memory.

#define T 128

extern "C" __global__ void nbody(unsigned n, const float4 *bodies, float4 *accelerations)
{
    __shared__ float4 tile[T];
    unsigned i = blockIdx.x * T + threadIdx.x;
    float4 here = bodies[i];
    float x = 0, y = 0, z = 0;
    for (unsigned first = 0; first < n; first += T) {
        tile[threadIdx.x] = bodies[first + threadIdx.x];
        __syncthreads();
        for (unsigned j = 0; j < T; j++) {
            float dx = tile[j].x - here.x, dy = tile[j].y - here.y, dz = tile[j].z - here.z;
            float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
            float inverse = 1.0f / sqrtf(square), pull = tile[j].w * inverse * inverse * inverse;
            x = fmaf(dx, pull, x);
            y = fmaf(dy, pull, y);
            z = fmaf(dz, pull, z);
        }
        __syncthreads();
    }
    accelerations[i] = make_float4(x, y, z, 0);
}
