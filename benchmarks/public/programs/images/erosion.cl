/* The least of 3 x 3 bytes; the border is copied. */
kernel void erosion(global const uchar *in, global uchar *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), i = y * n + x;
    uchar least = in[i];
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) least = min(least, in[i + dy * n + dx]);
    out[i] = least;
}
