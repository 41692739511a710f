// The sums of what four CTAs of a cluster have, in each of them: what a CTA has goes round the ring, from each CTA to the next, by
// stores that complete an mbarrier there. There are two places for what comes; the CTA behind is told when one is free.
#include "hopper.cuh"

constexpr int CTAS = 4, THREADS = 64, PLACES = 2;

__device__ inline u32 address_there(const void* p, u32 rank) {
    u32 there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(in_shared(p)), "r"(rank));
    return there;
}

__device__ inline void send(u32 to, u32 value, u32 bar) {
    asm volatile(
        "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(to), "r"(value), "r"(bar) : "memory");
}

extern "C" __global__ void __cluster_dims__(CTAS, 1, 1) __launch_bounds__(THREADS)
ring(const u32* x, u32* out) {
    __shared__ u32 place[PLACES][THREADS];
    __shared__ u64 full[PLACES], empty[PLACES];
    const u32 rank = rank_in_cluster(), next = (rank + 1) % CTAS, last = (rank + CTAS - 1) % CTAS;
    const int at = blockIdx.x * THREADS + threadIdx.x;
    if (threadIdx.x == 0) {
        for (int i = 0; i < PLACES; i++) {
            begin(&full[i], 1);
            begin(&empty[i], THREADS);
        }
        barriers_have_begun();
    }
    meet_in_cluster();
    u32 value = x[at], sum = value;
#pragma unroll 1
    for (int step = 0; step < CTAS - 1; step++) {
        const int i = step % PLACES;
        const u32 phase = step / PLACES % 2;
        await_in_cluster(&empty[i], phase ^ 1);
        if (threadIdx.x == 0)
            arrive_and_expect_in_cluster(&full[i], sizeof place[i]);
        send(address_there(&place[i][threadIdx.x], next), value, address_there(&full[i], next));
        await_in_cluster(&full[i], phase);
        value = place[i][THREADS - 1 - threadIdx.x];
        sum = 3 * sum + value;
        arrive_there(&empty[i], last);
    }
    out[at] = sum;
    meet_in_cluster();
}
