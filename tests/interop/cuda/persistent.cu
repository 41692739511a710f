// C = A * B by CTAs that each take every so many-th tile of C: a warpgroup that gives registers away fetches, two that take them
// multiply 64 rows each, and store their part of the tile as a box, while the next tile is fetched.
#include "hopper.cuh"

constexpr int ROWS = 128, COLUMNS = 32, DEPTH = 64, STAGES = 4, GROUP = 128, HALF = ROWS / 2;

struct Stage {
    u16 a[ROWS * DEPTH];
    u16 b[COLUMNS * DEPTH];
};

struct Shared {
    Stage stages[STAGES];
    float c[2][HALF][COLUMNS];
};

extern "C" __global__ void __launch_bounds__(3 * GROUP)
persistent(
    const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c, int across, int tiles, int steps
) {
    extern __shared__ __align__(1024) char memory[];
    Shared& shared = *reinterpret_cast<Shared*>(memory);
    __shared__ u64 full[STAGES], empty[STAGES];
    const int group = threadIdx.x / GROUP, thread = threadIdx.x % GROUP;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            begin(&full[i], 1);
            begin(&empty[i], 2 * GROUP / 32);
        }
        barriers_have_begun();
    }
    __syncthreads();
    int stage = 0;
    u32 phase = 0;
    if (group == 0) {
        give_registers<40>();
        if (thread != 0)
            return;
#pragma unroll 1
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x)
#pragma unroll 1
            for (int step = 0; step < steps; step++) {
                await(&empty[stage], phase ^ 1);
                arrive_and_expect(&full[stage], sizeof(Stage));
                copy_box(shared.stages[stage].a, a, &full[stage], step * DEPTH, tile / across * ROWS);
                copy_box(shared.stages[stage].b, b, &full[stage], step * DEPTH, tile % across * COLUMNS);
                if (++stage == STAGES) {
                    stage = 0;
                    phase ^= 1;
                }
            }
        return;
    }
    take_registers<232>();
    const int half = group - 1;
    float(&part)[HALF][COLUMNS] = shared.c[half];
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        float sums[COLUMNS / 2];
        int before = -1;
#pragma unroll 1
        for (int step = 0; step < steps; step++) {
            await(&full[stage], phase);
            const u64 at_a = matrix_at(shared.stages[stage].a + half * HALF * DEPTH), at_b = matrix_at(shared.stages[stage].b);
            begin_products();
#pragma unroll 1
            for (int k = 0; k < DEPTH * 2 / 16; k += 2)
                multiply<COLUMNS>(sums, at_a + k, at_b + k, step + k > 0);
            close_products();
            await_products<1>();
            __syncwarp();
            if (before >= 0 && thread % 32 == 0)
                arrive(&empty[before]);
            before = stage;
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        await_products<0>();
        __syncwarp();
        if (thread % 32 == 0)
            arrive(&empty[before]);
        if (thread == 0)
            stores_have_read();
        meet(1 + half, GROUP);
        for (int i = 0; i < COLUMNS / 2; i++)
            part[row_of(thread, i)][column_of(thread, i)] = sums[i];
        writes_before_copies();
        meet(1 + half, GROUP);
        if (thread == 0) {
            store_box(c, part, tile % across * COLUMNS, tile / across * ROWS + half * HALF);
            close_stores();
        }
    }
    if (thread == 0)
        stores_are_done();
}
