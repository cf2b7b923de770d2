/* The mean of 3 x 3 floats; beyond the border its nearest element counts. */
kernel void box(global const float *in, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    int left = max(x - 1, 0), right = min(x + 1, n - 1);
    float sum = 0;
    for (int d = -1; d <= 1; ++d) {
        global const float *row = in + clamp(y + d, 0, n - 1) * n;
        sum += row[left] + row[x] + row[right];
    }
    out[y * n + x] = sum / 9;
}
