// C = A * B: a warp fetches tiles of 128 x 64 and 64 x 64 into four stages, and a warpgroup multiplies them.
// A and B have the numbers of a sum side by side; the CTA number (x, y) makes a tile of C of 128 rows and 64 columns.
#include "hopper.cuh"

constexpr int ROWS = 128, COLUMNS = 64, DEPTH = 64, STAGES = 4, WORKERS = 128;

struct Stage {
    u16 a[ROWS * DEPTH];
    u16 b[COLUMNS * DEPTH];
};

extern "C" __global__ void __launch_bounds__(WORKERS + 32)
pipeline(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c, int width, int tiles) {
    extern __shared__ __align__(1024) Stage stages[];
    __shared__ u64 full[STAGES], empty[STAGES];
    const int row = blockIdx.y * ROWS, column = blockIdx.x * COLUMNS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            begin(&full[i], 1);
            begin(&empty[i], WORKERS / 32);
        }
        barriers_have_begun();
    }
    __syncthreads();
    int stage = 0;
    u32 phase = 0;
    if (threadIdx.x >= WORKERS) {
        if (threadIdx.x == WORKERS) {
#pragma unroll 1
            for (int tile = 0; tile < tiles; tile++) {
                await(&empty[stage], phase ^ 1);
                arrive_and_expect(&full[stage], sizeof(Stage));
                copy_box(stages[stage].a, a, &full[stage], tile * DEPTH, row);
                copy_box(stages[stage].b, b, &full[stage], tile * DEPTH, column);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
        return;
    }
    float sums[2][COLUMNS / 2] = {};
#pragma unroll 1
    for (int tile = 0; tile < tiles; tile++) {
        await(&full[stage], phase);
        begin_products();
        const u64 at_a = matrix_at(stages[stage].a), at_b = matrix_at(stages[stage].b);
#pragma unroll 1
        for (int k = 0; k < DEPTH * 2 / 16; k += 2) {
            multiply<COLUMNS>(sums[0], at_a + k, at_b + k, 1);
            multiply<COLUMNS>(sums[1], at_a + 64 * DEPTH * 2 / 16 + k, at_b + k, 1);
        }
        close_products();
        await_products<0>();
        __syncwarp();
        if (threadIdx.x % 32 == 0)
            arrive(&empty[stage]);
        if (++stage == STAGES) {
            stage = 0;
            phase ^= 1;
        }
    }
    for (int half = 0; half < 2; half++)
        for (int i = 0; i < COLUMNS / 2; i++)
            c[(row + 64 * half + row_of(threadIdx.x, i)) * width + column + column_of(threadIdx.x, i)] = sums[half][i];
}
