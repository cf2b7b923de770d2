/* A polynomial of degree 8, whose coefficients are in constant memory. */
kernel void horner(constant float *coefficients, global const float *x, global float *out) {
    size_t i = get_global_id(0);
    float at = x[i], sum = 0;
    for (int k = 8; k >= 0; --k) sum = sum * at + coefficients[k];
    out[i] = sum;
}
