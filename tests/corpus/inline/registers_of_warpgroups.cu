// sm_90a sm_100a: registers that warps give and take
__global__ void __launch_bounds__(384, 1) k(float *x)
{
    if (threadIdx.x < 128) { asm volatile("setmaxnreg.dec.sync.aligned.u32 40;\n"); }
    else { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;\n"); }
    x[threadIdx.x] += 1;
}
