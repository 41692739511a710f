// C = A * B by pairs of CTAs: each makes 64 rows of the same 32 columns, fetches its rows of A, and half of B for both.
#include "hopper.cuh"

constexpr int ROWS = 64, COLUMNS = 32, DEPTH = 64, STAGES = 3, WORKERS = 128, PAIR = 2, PART = COLUMNS / PAIR;

struct Stage {
    u16 a[ROWS * DEPTH];
    u16 b[COLUMNS * DEPTH];
};

extern "C" __global__ void __cluster_dims__(PAIR, 1, 1) __launch_bounds__(WORKERS + 32)
multicast(const __grid_constant__ Map a, const __grid_constant__ Map b, float* c, int width, int tiles) {
    extern __shared__ __align__(1024) Stage stages[];
    __shared__ u64 full[STAGES], empty[STAGES];
    const u32 rank = rank_in_cluster();
    const int row = blockIdx.x * ROWS, column = blockIdx.y * COLUMNS;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            begin(&full[i], 1);
            begin(&empty[i], PAIR);
        }
        barriers_have_begun();
    }
    meet_in_cluster();
    int stage = 0;
    u32 phase = 0;
    if (threadIdx.x >= WORKERS) {
        if (threadIdx.x == WORKERS) {
#pragma unroll 1
            for (int tile = 0; tile < tiles; tile++) {
                await_in_cluster(&empty[stage], phase ^ 1);
                arrive_and_expect_in_cluster(&full[stage], sizeof(Stage));
                copy_box(stages[stage].a, a, &full[stage], tile * DEPTH, row);
                copy_box_to(3, stages[stage].b + rank * PART * DEPTH, b, &full[stage], tile * DEPTH, column + rank * PART);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        }
    } else {
        float sums[COLUMNS / 2] = {};
#pragma unroll 1
        for (int tile = 0; tile < tiles; tile++) {
            await_in_cluster(&full[stage], phase);
            begin_products();
#pragma unroll 1
            for (int k = 0; k < DEPTH * 2 / 16; k += 2)
                multiply<COLUMNS>(sums, matrix_at(stages[stage].a) + k, matrix_at(stages[stage].b) + k, 1);
            close_products();
            await_products<0>();
            if (threadIdx.x < PAIR)
                arrive_there(&empty[stage], threadIdx.x);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        for (int i = 0; i < COLUMNS / 2; i++)
            c[(row + row_of(threadIdx.x, i)) * width + column + column_of(threadIdx.x, i)] = sums[i];
    }
    __syncwarp();
    meet_in_cluster();
}
