// AES with keys of 128 bits, a block a thread: the rounds by a table in shared memory. Words are big-endian columns of the state.

extern "C" __global__ void aes(
    unsigned n, const unsigned *keys, const unsigned *table, const unsigned char *box, const uint4 *in, uint4 *out)
{
    __shared__ unsigned mixed[256];
    __shared__ unsigned char last[256];
    for (unsigned e = threadIdx.x; e < 256; e += blockDim.x) {
        mixed[e] = table[e];
        last[e] = box[e];
    }
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    uint4 block = in[i];
    unsigned s[4] = {block.x ^ keys[0], block.y ^ keys[1], block.z ^ keys[2], block.w ^ keys[3]}, t[4];
    for (unsigned round = 1; round < 10; round++) {
        for (unsigned c = 0; c < 4; c++) {
            unsigned a = mixed[s[c] >> 24], b = mixed[s[(c + 1) % 4] >> 16 & 255];
            unsigned d = mixed[s[(c + 2) % 4] >> 8 & 255], e = mixed[s[(c + 3) % 4] & 255];
            t[c] = a ^ __funnelshift_r(b, b, 8) ^ __funnelshift_r(d, d, 16) ^ __funnelshift_r(e, e, 24) ^ keys[4 * round + c];
        }
        for (unsigned c = 0; c < 4; c++) s[c] = t[c];
    }
    for (unsigned c = 0; c < 4; c++) {
        unsigned high = last[s[c] >> 24] << 24 | last[s[(c + 1) % 4] >> 16 & 255] << 16;
        t[c] = (high | last[s[(c + 2) % 4] >> 8 & 255] << 8 | last[s[(c + 3) % 4] & 255]) ^ keys[40 + c];
    }
    out[i] = make_uint4(t[0], t[1], t[2], t[3]);
}
