// sm_90 sm_100: memory of several GPUs, stores that are told of, a scheduler
__global__ void k(float *x, unsigned *y)
{
    __shared__ __align__(16) unsigned cell[8];
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(cell));
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.f32 %0, [%1];" : "=f"(x[0]) : "l"(x + 1) : "memory");
    asm volatile("multimem.red.relaxed.sys.global.add.f32 [%0], %1;" :: "l"(x), "f"(x[1]) : "memory");
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" :: "r"(at), "r"(y[0]), "r"(at + 8) : "memory");
#if __CUDA_ARCH__ >= 1000
    asm volatile("clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%0], [%1];" :: "r"(at), "r"(at + 16) : "memory");
#endif
}
