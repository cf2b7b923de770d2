/* A convolution of 3 x 3 over 8 channels of images that have a border. */
kernel void conv3(global const float *in, constant float *weights, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), feature = get_global_id(2), m = n + 2;
    float sum = 0;
    for (int c = 0; c < 8; ++c)
        for (int dy = 0; dy < 3; ++dy)
            for (int dx = 0; dx < 3; ++dx)
                sum += weights[((feature * 8 + c) * 3 + dy) * 3 + dx]
                     * in[(c * m + y + dy) * m + x + dx];
    out[(feature * n + y) * n + x] = sum;
}
