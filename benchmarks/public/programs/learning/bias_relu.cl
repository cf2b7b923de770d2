/* A bias for each column is added, what is negative becomes 0. */
kernel void bias_relu(global float *x, global const float *bias, int columns) {
    int column = get_global_id(0), i = get_global_id(1) * columns + column;
    x[i] = fmax(x[i] + bias[column], 0.0f);
}
