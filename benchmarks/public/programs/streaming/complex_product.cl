/* Complex numbers, real and imaginary part side by side, are multiplied. */
kernel void complex_product(global const float2 *a, global const float2 *b, global float2 *out) {
    size_t i = get_global_id(0);
    float2 x = a[i], y = b[i];
    out[i] = (float2)(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}
