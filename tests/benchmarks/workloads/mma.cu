// C = A B with A and B in half precision, the columns of B one after the other: a warp computes 16 x 8 elements by mma.sync.

extern "C" __global__ void mma(unsigned n, const unsigned short *a, const unsigned short *b, float *c)
{
    unsigned lane = threadIdx.x & 31, group = lane >> 2, pair = (lane & 3) * 2;
    unsigned row = blockIdx.y * 16 + group, column = (blockIdx.x * 4 + (threadIdx.x >> 5)) * 8;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    for (unsigned k = 0; k < n; k += 16) {
        const unsigned short *left = a + row * n + k + pair, *right = b + (column + group) * n + k + pair;
        unsigned a0 = *(const unsigned *)left, a1 = *(const unsigned *)(left + 8 * n);
        unsigned a2 = *(const unsigned *)(left + 8), a3 = *(const unsigned *)(left + 8 * n + 8);
        unsigned b0 = *(const unsigned *)right, b1 = *(const unsigned *)(right + 8);
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    }
    float *out = c + row * n + column + pair;
    out[0] = d0;
    out[1] = d1;
    out[8 * n] = d2;
    out[8 * n + 1] = d3;
}
