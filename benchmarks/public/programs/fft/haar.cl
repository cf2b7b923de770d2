/* One level of Haar's wavelets: means of pairs in front, differences behind. */
kernel void haar(global const float *in, global float *out, int half_n) {
    int i = get_global_id(0);
    float a = in[2 * i], b = in[2 * i + 1];
    out[i] = (a + b) * 0.5f;
    out[half_n + i] = (a - b) * 0.5f;
}
