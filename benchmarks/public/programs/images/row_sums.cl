/* Sums along the rows of an image, each of which a work-item goes along (integral images). */
kernel void row_sums(global const uchar *in, global uint *out, int n) {
    int y = get_global_id(0);
    uint sum = 0;
    for (int x = 0; x < n; ++x) {
        sum += in[y * n + x];
        out[y * n + x] = sum;
    }
}
