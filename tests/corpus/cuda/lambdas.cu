template <class F> __global__ void each(F f, int n) { int i = threadIdx.x; if (i < n) f(i); }
struct Add { int *p, k; __device__ void operator()(int i) const { p[i] += k; } };
template __global__ void each<Add>(Add, int);
__global__ void k(float *x, float a) { auto g = [=](float v) { return v * a + 1; }; auto h = [&](int i) { x[i] = g(g(x[i])); }; h(threadIdx.x); h(3); }
