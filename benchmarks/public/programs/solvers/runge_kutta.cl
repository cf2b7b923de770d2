/* 64 steps of order four of Lorenz' system from many starts. */
float4 slope(float4 p) {
    return (float4)(10 * (p.y - p.x), p.x * (28 - p.z) - p.y, p.x * p.y - p.z * (8.0f / 3), 0);
}
kernel void runge_kutta(global float4 *state, float step) {
    int i = get_global_id(0);
    float4 p = state[i];
    for (int k = 0; k < 64; ++k) {
        float4 a = slope(p), b = slope(p + 0.5f * step * a), c = slope(p + 0.5f * step * b);
        float4 d = slope(p + step * c);
        p += step / 6 * (a + 2 * b + 2 * c + d);
    }
    state[i] = p;
}
