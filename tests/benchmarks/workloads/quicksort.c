static void quicksort_part(int *v, int low, int high)
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

void quicksort(unsigned parts, unsigned length, int *v)
{
    for (unsigned i = 0; i < parts; i++) quicksort_part(v + i * length, 0, length - 1);
}
