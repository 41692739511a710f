// Votes and matches of warps, each of which changes what the threads vote next.

extern "C" __global__ void votes(unsigned n, unsigned rounds, const unsigned *in, unsigned *out)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = in[i], all = 0xffffffffu;
    for (unsigned r = 0; r < rounds; r++) {
        unsigned odd = __ballot_sync(all, v & 1), same = __match_any_sync(all, v >> 4 & 7);
        int alike;
        unsigned mask = __match_all_sync(all, v >> 31, &alike);
        unsigned change = __popc(odd & ((1u << lane) - 1)) + __popc(same) * 7 + (alike ? mask : 3);
        if (__any_sync(all, (v & 63) == 63)) change ^= 0x5bd1e995u;
        if (__all_sync(all, v & 3)) change += lane;
        v = (v ^ v >> 13) * 0x85ebca6bu + change;
    }
    out[i] = v;
}
