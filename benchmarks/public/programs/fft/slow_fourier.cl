/* Fourier sums of rows of 64 floats as they are written down, by sine and cosine. */
kernel void slow_fourier(global const float *in, global float2 *out) {
    int i = get_global_id(0), k = i & 63;
    float2 sum = (float2)(0);
    for (int t = 0; t < 64; ++t) {
        float angle = 2 * M_PI_F * ((k * t) & 63) / 64, value = in[(i & ~63) + t], c;
        float s = sincos(angle, &c);
        sum += value * (float2)(c, -s);
    }
    out[i] = sum;
}
