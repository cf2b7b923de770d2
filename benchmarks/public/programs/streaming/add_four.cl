/* Four arrays are read, a fifth is written. */
kernel void add_four(global const float *a, global const float *b, global const float *c,
                     global const float *d, global float *out) {
    size_t i = get_global_id(0);
    out[i] = (a[i] + b[i]) + (c[i] + d[i]);
}
