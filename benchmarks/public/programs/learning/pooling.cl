/* The greatest of 2 x 2 floats and which one it is. */
kernel void pooling(global const float *in, global float *out, global uchar *which, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float most = -INFINITY;
    uchar best = 0;
    for (int k = 0; k < 4; ++k) {
        float value = in[(2 * y + k / 2) * 2 * n + 2 * x + k % 2];
        if (value > most) {
            most = value;
            best = k;
        }
    }
    out[y * n + x] = most;
    which[y * n + x] = best;
}
