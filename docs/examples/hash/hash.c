/* Hashes n words in a loop of integer instructions, on one core. */

#include <stdint.h>

static uint32_t rotate_left(uint32_t x, uint32_t bits)
{
    return x << (bits & 31) | x >> (-bits & 31);
}

/* The upper half of the pair (high, low) shifted left by 0 < bits < 32. */
static uint32_t funnel_shift_left(uint32_t low, uint32_t high, uint32_t bits)
{
    return high << bits | low >> (32 - bits);
}

static uint32_t population_count(uint32_t x)
{
    x -= x >> 1 & 0x55555555u;
    x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}

static uint32_t leading_zeros(uint32_t x)
{
    x |= x >> 1;
    x |= x >> 2;
    x |= x >> 4;
    x |= x >> 8;
    x |= x >> 16;
    return 32 - population_count(x);
}

static uint32_t reverse_bits(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    x = (x >> 8 & 0x00ff00ffu) | (x & 0x00ff00ffu) << 8;
    return x >> 16 | x << 16;
}

void hash(uint32_t n, uint32_t rounds, uint32_t seed, const uint32_t *restrict words,
          uint32_t *restrict hashes)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = words[i];
        uint32_t h = seed ^ i;
        for (uint32_t round = 0; round < rounds; round++) {
            h ^= word;
            h ^= h >> 15;
            h *= 0x9e3779b1u;
            h = rotate_left(h, population_count(word));
            uint32_t field = word >> (h & 31) & 0x7ffu;
            h = (h & ~(0x7ffu << 9)) | field << 9;
            word = reverse_bits(word) + funnel_shift_left(word, h, 7);
            word ^= h << (leading_zeros(word) & 31);
        }
        hashes[i] = h ^ h >> 16;
    }
}
