/* Rows of weights with four bits, 32 of which share a scale, times a vector. */
kernel void four_bits(global const uchar *weights, global const float *scales,
                      global const float *x, global float *y, int blocks) {
    int row = get_global_id(0);
    float sum = 0;
    for (int b = 0; b < blocks; ++b) {
        global const uchar *packed = weights + (row * blocks + b) * 16;
        float part = 0;
        for (int k = 0; k < 16; ++k) {
            int both = packed[k];
            part += ((both & 15) - 8) * x[b * 32 + k] + ((both >> 4) - 8) * x[b * 32 + k + 16];
        }
        sum += part * scales[row * blocks + b];
    }
    y[row] = sum;
}
