/* A step of Adam: weights follow means of slopes and of their squares. */
kernel void adam(global float *weight, global float *mean, global float *square,
                 global const float *slope, float rate) {
    int i = get_global_id(0);
    float g = slope[i], m = 0.9f * mean[i] + 0.1f * g, v = 0.999f * square[i] + 0.001f * g * g;
    mean[i] = m;
    square[i] = v;
    weight[i] -= rate * m / (sqrt(v) + 1e-8f);
}
