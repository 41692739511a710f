// Hashes each input word in a loop of integer instructions: shifts, rotations, products, bit counts,
// bit reversal, and bit-field extraction and insertion. The mixing steps are made up for this example
// and make no claim of quality as a hash function.

// The `length` bits of `x` from bit `position` on.
__device__ static unsigned int extract(unsigned int x, unsigned int position, unsigned int length)
{
    unsigned int field;
    asm("bfe.u32 %0, %1, %2, %3;" : "=r"(field) : "r"(x), "r"(position), "r"(length));
    return field;
}

// `x` with its `length` bits from bit `position` on replaced by the low bits of `field`.
__device__ static unsigned int insert(unsigned int field, unsigned int x, unsigned int position,
                                      unsigned int length)
{
    unsigned int result;
    asm("bfi.b32 %0, %1, %2, %3, %4;"
        : "=r"(result) : "r"(field), "r"(x), "r"(position), "r"(length));
    return result;
}

extern "C" __global__ void hash(unsigned int n, unsigned int rounds, unsigned int seed,
                                const unsigned int *words, unsigned int *hashes)
{
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;

    unsigned int word = words[i];
    unsigned int h = seed ^ i;
#pragma unroll 1  // keeps the PTX short
    for (unsigned int round = 0; round < rounds; round++) {
        // Mix the word in: xor with a shift, then multiply.
        h ^= word;
        h ^= h >> 15;
        h *= 0x9e3779b1u;

        // Rotate by a number of bits that depends on the data.
        h = __funnelshift_l(h, h, __popc(word));

        // Put a field of the word, at a place that depends on the data, into the middle of the hash.
        unsigned int field = extract(word, h & 31u, 11u);
        h = insert(field, h, 9u, 11u);

        // Change the word for the next round.
        word = __brev(word) + __funnelshift_l(word, h, 7u);
        word ^= h << (__clz(word) & 31);
    }
    hashes[i] = h ^ (h >> 16);
}
