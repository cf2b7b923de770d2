/* An image of floats is enlarged; what is between its elements is a mean of four. */
kernel void enlarged(global const float *in, global float *out, int from, int to) {
    int x = get_global_id(0), y = get_global_id(1);
    int fx = x * (from - 1) * 256 / to, fy = y * (from - 1) * 256 / to;
    float wx = (fx & 255) / 256.0f, wy = (fy & 255) / 256.0f;
    global const float *p = in + (fy >> 8) * from + (fx >> 8);
    float above = p[0] + wx * (p[1] - p[0]), below = p[from] + wx * (p[from + 1] - p[from]);
    out[y * to + x] = above + wy * (below - above);
}
