// Inserts keys into a hash table. FAULT: a place is tested, and then taken.
extern "C" __global__ void k(const int *keys, int *table, int *places)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, key = keys[i];
    int at = key % 64;
    while (true) {
#ifdef FAULT
        int old = table[at]; //@ look
        if (old == 0)
            table[at] = key; //@ put
#else
        int old = atomicCAS(&table[at], 0, key);
#endif
        if (old == 0 || old == key)
            break;
        at = (at + 1) % 64;
    }
    places[i] = at;
}
