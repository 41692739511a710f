// sm_90 sm_100: copies by the engine for them
__global__ void k(char *out, char const *in, void const *map)
{
    __shared__ __align__(128) char cell[1024];
    __shared__ __align__(8) unsigned long long bar;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(cell)), to = static_cast<unsigned>(__cvta_generic_to_shared(&bar));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" :: "r"(at), "l"(in), "r"(1024), "r"(to) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" :: "r"(at), "l"(map), "r"(to), "r"(0), "r"(0) : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(out), "r"(at), "r"(1024) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" :: "l"(out), "r"(at), "r"(1024) : "memory");
    asm volatile("cp.async.bulk.commit_group;");
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory");
}
