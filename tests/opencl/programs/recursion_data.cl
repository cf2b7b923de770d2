/* Recursion with arrays in each frame and pointers to the caller's: quicksort and permutations. */
void quicksort(__global short *a, int low, int high)
{
    if (low >= high)
        return;
    const short pivot = a[(low + high) / 2];
    int i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot)
            i++;
        while (a[j] > pivot)
            j--;
        if (i <= j) {
            const short t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

long permanent(__global const int *m, int n, int row, uint used)
{
    if (row == n)
        return 1;
    int terms[4];
    for (int k = 0; k < n; k++)
        terms[k] = used >> k & 1 ? 0 : m[row * n + k];
    long sum = 0;
    for (int k = 0; k < n; k++)
        if (terms[k] != 0)
            sum += terms[k] * permanent(m, n, row + 1, used | 1u << k);
    return sum;
}

__kernel void sort_rows(__global short *rows, __global const int *lengths, int stride)
{
    const int i = get_global_id(0);
    quicksort(rows + i * stride, 0, lengths[i] - 1);
}

__kernel void permanents(__global const int *matrices, __global long *out, int n)
{
    const int i = get_global_id(0);
    out[i] = permanent(matrices + i * n * n, n, 0, 0);
}
