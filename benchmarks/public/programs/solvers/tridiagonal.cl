/* Thomas' algorithm: a work-item solves a system of 64, systems lie side by side. */
kernel void tridiagonal(global const float *low, global const float *middle,
                        global const float *high, global const float *b, global float *x,
                        global float *c, int n) {
    int i = get_global_id(0);
    float before = high[i] / middle[i], value = b[i] / middle[i];
    c[i] = before;
    x[i] = value;
    for (int k = 1; k < 64; ++k) {
        int at = k * n + i;
        float w = 1 / (middle[at] - low[at] * before);
        before = high[at] * w;
        value = (b[at] - low[at] * value) * w;
        c[at] = before;
        x[at] = value;
    }
    for (int k = 62; k >= 0; --k) {
        value = x[k * n + i] - c[k * n + i] * value;
        x[k * n + i] = value;
    }
}
