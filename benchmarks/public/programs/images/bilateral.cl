/* A blur of 5 x 5 that keeps edges: weights fall with distance in place and in value. */
kernel void bilateral(global const float *in, global float *out, int n, float near, float alike) {
    int x = get_global_id(0), y = get_global_id(1);
    float here = in[y * n + x], sum = 0, weights = 0;
    for (int dy = -2; dy <= 2; ++dy)
        for (int dx = -2; dx <= 2; ++dx) {
            float other = in[clamp(y + dy, 0, n - 1) * n + clamp(x + dx, 0, n - 1)];
            float d = other - here;
            float weight = exp(-(dx * dx + dy * dy) * near - d * d * alike);
            sum += weight * other;
            weights += weight;
        }
    out[y * n + x] = sum / weights;
}
