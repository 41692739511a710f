// softmax(Q K' / sqrt(D)) V of one head, in one pass over tiles of keys: a thread has a row, with its maximum and its sum so far.

#define D 32
#define T 64

extern "C" __global__ void attention(unsigned n, const float *q, const float *k, const float *v, float *out)
{
    __shared__ float keys[T][D], values[T][D];
    unsigned t = threadIdx.x, i = blockIdx.x * T + t;
    float query[D], sum[D], largest = -INFINITY, total = 0;
    for (unsigned d = 0; d < D; d++) {
        query[d] = q[i * D + d] * 0.25503487f; // log2(e) / sqrt(32)
        sum[d] = 0;
    }
    for (unsigned first = 0; first < n; first += T) {
        for (unsigned e = t; e < T * D; e += T) {
            keys[e / D][e % D] = k[first * D + e];
            values[e / D][e % D] = v[first * D + e];
        }
        __syncthreads();
        for (unsigned j = 0; j < T; j++) {
            float score = 0;
            for (unsigned d = 0; d < D; d++) score = fmaf(query[d], keys[j][d], score);
            float next = fmaxf(largest, score), kept = exp2f(largest - next), weight = exp2f(score - next);
            largest = next;
            total = fmaf(total, kept, weight);
            for (unsigned d = 0; d < D; d++) sum[d] = fmaf(sum[d], kept, weight * values[j][d]);
        }
        __syncthreads();
    }
    for (unsigned d = 0; d < D; d++) out[i * D + d] = sum[d] / total;
}
