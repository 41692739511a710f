// What the programs here take from PTX: each function is an instruction, or the few that always stand together.
#pragma once

using u16 = unsigned short;
using u32 = unsigned;
using u64 = unsigned long long;

// a tensor map: an argument of 128 bytes
struct alignas(64) Map {
    char bytes[128];
};

__device__ inline u32 in_shared(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// mbarriers ---------------------------------------------------------------------------------------------------------------

__device__ inline void begin(u64* bar, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(in_shared(bar)), "r"(arrivals) : "memory");
}

__device__ inline void barriers_have_begun() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void arrive(u64* bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(in_shared(bar)) : "memory");
}

__device__ inline void arrive_and_expect(u64* bar, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(bar)), "r"(bytes) : "memory");
}

// the bytes come from other CTAs of the cluster, too
__device__ inline void arrive_and_expect_in_cluster(u64* bar, u32 bytes) {
    asm volatile(
        "mbarrier.arrive.expect_tx.release.cluster.shared::cta.b64 _, [%0], %1;" ::"r"(in_shared(bar)), "r"(bytes) : "memory");
}

// at the barrier that stands at the same place in another CTA of the cluster
__device__ inline void arrive_there(u64* bar, u32 rank) {
    asm volatile(
        "{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(in_shared(bar)), "r"(rank) : "memory");
}

__device__ inline bool is_over(u64* bar, u32 parity) {
    u32 over;
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2; selp.u32 %0, 1, 0, over; }"
        : "=r"(over) : "r"(in_shared(bar)), "r"(parity) : "memory");
    return over;
}

__device__ inline bool is_over_in_cluster(u64* bar, u32 parity) {
    u32 over;
    asm volatile(
        "{ .reg .pred over; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over; }"
        : "=r"(over) : "r"(in_shared(bar)), "r"(parity) : "memory");
    return over;
}

__device__ inline void await(u64* bar, u32 parity) {
    while (!is_over(bar, parity)) {}
}

__device__ inline void await_in_cluster(u64* bar, u32 parity) {
    while (!is_over_in_cluster(bar, parity)) {}
}

// copies of boxes ---------------------------------------------------------------------------------------------------------

__device__ inline void copy_box(void* to, const Map& map, u64* bar, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
            "r"(in_shared(to)), "l"(&map), "r"(x), "r"(y), "r"(in_shared(bar)) : "memory");
}

__device__ inline void copy_box_to(u16 ctas, void* to, const Map& map, u64* bar, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster\n"
        "    [%0], [%1, {%2, %3}], [%4], %5;" ::
            "r"(in_shared(to)), "l"(&map), "r"(x), "r"(y), "r"(in_shared(bar)), "h"(ctas) : "memory");
}

__device__ inline void copy_pixels(void* to, const Map& map, u64* bar, int c, int w, int h, int n, u16 right, u16 down) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes\n"
        "    [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::
            "r"(in_shared(to)), "l"(&map), "r"(c), "r"(w), "r"(h), "r"(n), "r"(in_shared(bar)), "h"(right), "h"(down)
        : "memory");
}

__device__ inline void store_box(const Map& map, const void* from, int x, int y) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::
            "l"(&map), "r"(x), "r"(y), "r"(in_shared(from)) : "memory");
}

__device__ inline void close_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void stores_have_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void stores_are_done() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void writes_before_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// barriers of some threads, and of a cluster ------------------------------------------------------------------------------

__device__ inline void meet(int barrier, int threads) {
    asm volatile("barrier.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ inline void meet_in_cluster() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline u32 rank_in_cluster() {
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// registers -------------------------------------------------------------------------------------------------------------

template <int count>
__device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count)); }
template <int count>
__device__ inline void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count)); }

// products of warpgroups --------------------------------------------------------------------------------------------------

// where a matrix begins whose rows have 128 bytes, eight rows being `stride` bytes from the next eight; swizzled by 128 bytes
__device__ inline u64 matrix_at(const void* p, u32 stride = 1024) {
    return (in_shared(p) & 0x3FFFF) >> 4 | u64(1) << 16 | u64(stride >> 4) << 32 | u64(1) << 62;
}

__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void close_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int most>
__device__ inline void await_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(most) : "memory"); }

#define FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])

// d += a * b for 64 rows, `columns` columns and 16 numbers of each; or d = a * b
template <int columns>
__device__ inline void multiply(float (&d)[columns / 2], u64 a, u64 b, int add) {
    if constexpr (columns == 32)
        asm volatile(
            "{ .reg .pred add; setp.ne.s32 add, %18, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16\n"
            "    {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, add, 1, 1, 0, 0; }"
            : FOUR(d, 0), FOUR(d, 4), FOUR(d, 8), FOUR(d, 12) : "l"(a), "l"(b), "r"(add));
    else
        asm volatile(
            "{ .reg .pred add; setp.ne.s32 add, %34, 0;\n"
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16\n"
            "    {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15,\n"
            "     %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, %32, %33, add, 1, 1, 0, 0; }"
            : FOUR(d, 0), FOUR(d, 4), FOUR(d, 8), FOUR(d, 12), FOUR(d, 16), FOUR(d, 20), FOUR(d, 24), FOUR(d, 28)
            : "l"(a), "l"(b), "r"(add));
}

// where the thread of a warpgroup has its elements: register i of d is at row_of(i), column_of(i)
__device__ inline int row_of(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
__device__ inline int column_of(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }
