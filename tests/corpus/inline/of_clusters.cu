// sm_90 sm_100 sm_120: what CTAs of a cluster do
__global__ void k(unsigned *x)
{
    __shared__ unsigned cell[32];
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(cell)), there, rank, size;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"((rank + 1) % size));
    asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(there), "r"(rank) : "memory");
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(x[0]) : "r"(at));
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(x[1]) : "r"(there) : "memory");
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(x[2]) : "r"(there));
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("fence.proxy.alias;" ::: "memory");
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;");
}
