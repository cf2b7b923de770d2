/* A step of Conway's game on a torus of bytes whose side is a power of two. */
kernel void life(global const uchar *in, global uchar *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), mask = n - 1, near = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx)
            if (dx != 0 || dy != 0) near += in[((y + dy) & mask) * n + ((x + dx) & mask)];
    out[y * n + x] = near == 3 || (near == 2 && in[y * n + x]);
}
