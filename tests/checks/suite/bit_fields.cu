// Threads set one of two members. FAULT: the members are fields of one word, each of which is written together with the other.
#ifdef FAULT
struct Pair {
    unsigned first : 12, second : 20;
};
#else
struct Pair {
    unsigned short first, second;
};
#endif
extern "C" __global__ void k(Pair *pairs)
{
    Pair *pair = pairs + threadIdx.x / 2;
    if (threadIdx.x & 1)
        pair->second = threadIdx.x + 1; //@ put
    else
        pair->first = threadIdx.x + 1; //@ put
}
