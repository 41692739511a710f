// Each thread sorts its part of an array by a function that calls itself.

__device__ __noinline__ void quicksort_part(int *v, int low, int high)
{
    if (low >= high) return;
    int pivot = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (v[i] < pivot) i++;
        while (v[j] > pivot) j--;
        if (i <= j) {
            int kept = v[i];
            v[i++] = v[j];
            v[j--] = kept;
        }
    }
    quicksort_part(v, low, j);
    quicksort_part(v, i, high);
}

extern "C" __global__ void quicksort(unsigned parts, unsigned length, int *v)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < parts) quicksort_part(v + i * length, 0, length - 1);
}
