// A convolution of images with 64 channels by filters of 3 x 3: what a tap of the filter sees of 64 pixels is a matrix of 64 x 64
// that a copy of pixels fetches, with zeros around the image; 32 filters are the other matrix. Two stages.
#include "hopper.cuh"

constexpr int PIXELS = 64, FILTERS = 32, CHANNELS = 64, TAPS = 9, STAGES = 2, WORKERS = 128;

struct Stage {
    u16 pixels[PIXELS * CHANNELS];
    u16 filters[FILTERS * CHANNELS];
};

extern "C" __global__ void __launch_bounds__(WORKERS + 32)
convolution(const __grid_constant__ Map images, const __grid_constant__ Map filters, float* out, int width, int height) {
    extern __shared__ __align__(1024) Stage stages[];
    __shared__ u64 full[STAGES], empty[STAGES];
    const int first = blockIdx.x * PIXELS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            begin(&full[i], 1);
            begin(&empty[i], WORKERS);
        }
        barriers_have_begun();
    }
    __syncthreads();
    if (threadIdx.x == WORKERS) {
        const int w = first % width - 1, h = first / width % height - 1, n = first / width / height;
#pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++) {
            const int stage = tap % STAGES;
            await(&empty[stage], tap / STAGES % 2 ^ 1);
            arrive_and_expect(&full[stage], sizeof(Stage));
            copy_pixels(stages[stage].pixels, images, &full[stage], 0, w, h, n, tap % 3, tap / 3);
            copy_box(stages[stage].filters, filters, &full[stage], 0, tap * FILTERS);
        }
    } else if (threadIdx.x < WORKERS) {
        float sums[FILTERS / 2] = {};
#pragma unroll 1
        for (int tap = 0; tap < TAPS; tap++) {
            const int stage = tap % STAGES;
            await(&full[stage], tap / STAGES % 2);
            begin_products();
#pragma unroll 1
            for (int k = 0; k < CHANNELS * 2 / 16; k += 2)
                multiply<FILTERS>(sums, matrix_at(stages[stage].pixels) + k, matrix_at(stages[stage].filters) + k, 1);
            close_products();
            await_products<0>();
            arrive(&empty[stage]);
        }
        for (int i = 0; i < FILTERS / 2; i++)
            out[(first + row_of(threadIdx.x, i)) * FILTERS + column_of(threadIdx.x, i)] = sums[i];
    }
}
