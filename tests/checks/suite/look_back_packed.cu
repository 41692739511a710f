// A scan in one pass, with the state and the number in one word, which needs no fence. FAULT: the word is loaded plainly first.
extern "C" __global__ void k(const int *in, volatile unsigned long long *words, int *out)
{
    int b = blockIdx.x, sum = in[b], before = 0;
    words[b] = 1ull << 32 | (unsigned)sum; //@ put
    for (int i = b - 1; i >= 0; i--) {
#ifdef FAULT
        unsigned long long word = ((unsigned long long *)words)[i]; //@ get
#else
        unsigned long long word = 0;
#endif
        while (word == 0)
            word = words[i];
        before += (int)word;
        if (word >> 32 == 2)
            break;
    }
    words[b] = 2ull << 32 | (unsigned)(before + sum); //@ put
    out[b] = before + sum;
}
