/* Products of pairs of sparse vectors with sorted indices: two lists are merged. */
kernel void sparse_dot(global const int *indices, global const float *values, global float *out,
                       int length) {
    int i = get_global_id(0), a = 2 * i * length, b = a + length, enda = b, endb = b + length;
    float sum = 0;
    while (a < enda && b < endb) {
        int x = indices[a], y = indices[b];
        if (x == y) sum += values[a++] * values[b++];
        else if (x < y) ++a;
        else ++b;
    }
    out[i] = sum;
}
