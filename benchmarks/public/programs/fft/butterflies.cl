/* One stage of a transform of complex numbers (Stockham): its factors are computed. */
kernel void butterflies(global const float2 *in, global float2 *out, int half_n, int span) {
    int i = get_global_id(0), k = i & (span - 1), j = ((i - k) << 1) + k;
    float2 a = in[i], b = in[i + half_n];
    float angle = -M_PI_F * k / span;
    float c = cos(angle), s = sin(angle);
    float2 t = (float2)(b.x * c - b.y * s, b.x * s + b.y * c);
    out[j] = a + t;
    out[j + span] = a - t;
}
