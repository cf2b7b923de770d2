/* An image is turned by an angle in fixed point; what comes from outside is 0. */
kernel void turned_image(global const uint *in, global uint *out, int n, int cosine, int sine) {
    int x = get_global_id(0), y = get_global_id(1), dx = x - n / 2, dy = y - n / 2;
    int sx = ((dx * cosine - dy * sine) >> 12) + n / 2;
    int sy = ((dx * sine + dy * cosine) >> 12) + n / 2;
    out[y * n + x] = sx >= 0 && sy >= 0 && sx < n && sy < n ? in[sy * n + sx] : 0;
}
