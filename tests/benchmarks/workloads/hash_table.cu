// A table of keys with open addresses: threads insert keys by compare-and-swap and add to their values, then look keys up.

#define EMPTY 0xffffffffu

__device__ unsigned first_slot(unsigned key, unsigned mask)
{
    key *= 0x9e3779b1u;
    return (key ^ key >> 15) & mask;
}

extern "C" __global__ void hash_table_insert(unsigned n, unsigned mask, const unsigned *keys, unsigned *slots, unsigned *sums)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], at = first_slot(key, mask);
    for (;;) {
        unsigned before = atomicCAS(&slots[at], EMPTY, key);
        if (before == EMPTY || before == key) break;
        at = (at + 1) & mask;
    }
    atomicAdd(&sums[at], i);
}

extern "C" __global__ void hash_table_find(
    unsigned n, unsigned mask, const unsigned *queries, const unsigned *slots, const unsigned *sums, unsigned *results)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = queries[i], at = first_slot(key, mask);
    while (slots[at] != key && slots[at] != EMPTY) at = (at + 1) & mask;
    results[i] = slots[at] == key ? sums[at] : EMPTY;
}
