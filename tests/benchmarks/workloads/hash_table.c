#define EMPTY 0xffffffffu

static unsigned first_slot(unsigned key, unsigned mask)
{
    key *= 0x9e3779b1u;
    return (key ^ key >> 15) & mask;
}

void hash_table(
    unsigned n, unsigned mask, const unsigned *restrict keys, const unsigned *restrict queries, unsigned *restrict slots,
    unsigned *restrict sums, unsigned *restrict results)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned at = first_slot(keys[i], mask);
        while (slots[at] != EMPTY && slots[at] != keys[i]) at = (at + 1) & mask;
        slots[at] = keys[i];
        sums[at] += i;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned at = first_slot(queries[i], mask);
        while (slots[at] != queries[i] && slots[at] != EMPTY) at = (at + 1) & mask;
        results[i] = slots[at] == queries[i] ? sums[at] : EMPTY;
    }
}
