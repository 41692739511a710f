// sm_80 sm_90: barriers in shared memory
__global__ void k(unsigned *x)
{
    __shared__ __align__(8) unsigned long long bar;
    unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&bar)), done;
    unsigned long long state;
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at), "r"(blockDim.x) : "memory");
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(at) : "memory");
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "l"(state) : "memory");
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n.reg .pred p;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra LAB_WAIT;\nDONE:\n}" :: "r"(at), "r"(0));
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(1024));
#endif
    x[0] = done;
}
