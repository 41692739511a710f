#include <math.h>

// the inner loop runs over the bodies that are pulled, so that it is compiled to vectors
void nbody(unsigned n, const float *restrict bodies, float *restrict accelerations)
{
    for (unsigned i = 0; i < 4 * n; i++) accelerations[i] = 0;
    for (unsigned j = 0; j < n; j++) {
        const float *other = bodies + 4 * j;
        for (unsigned i = 0; i < n; i++) {
            const float *here = bodies + 4 * i;
            float *sum = accelerations + 4 * i;
            float dx = other[0] - here[0], dy = other[1] - here[1], dz = other[2] - here[2];
            float square = fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, 0.01f)));
            float inverse = 1.0f / sqrtf(square), pull = other[3] * inverse * inverse * inverse;
            sum[0] = fmaf(dx, pull, sum[0]);
            sum[1] = fmaf(dy, pull, sum[1]);
            sum[2] = fmaf(dz, pull, sum[2]);
        }
    }
}
