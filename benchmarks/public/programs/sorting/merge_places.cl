/* Two sorted arrays become one: each element finds its place in the other by halving. */
kernel void merge_places(global const int *a, global const int *b, global int *out, int n) {
    int i = get_global_id(0), is_second = i >= n, at = is_second ? i - n : i;
    int key = is_second ? b[at] : a[at], low = 0, high = n;
    global const int *other = is_second ? a : b;
    while (low < high) {
        int middle = (low + high) >> 1;
        int value = other[middle];
        if (is_second ? value <= key : value < key) low = middle + 1;
        else high = middle;
    }
    out[at + low] = key;
}
