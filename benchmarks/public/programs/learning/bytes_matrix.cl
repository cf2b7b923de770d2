/* Matrices of signed bytes; sums of 32 bits are scaled, rounded and saturated to bytes. */
kernel void bytes_matrix(global const char *a, global const char *b, global char *c, int n,
                         float scale) {
    int x = get_global_id(0), y = get_global_id(1), sum = 0;
    for (int k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = convert_char_sat_rte(sum * scale);
}
