/* Bytes are added with saturation, sixteen in each work-item. */
kernel void saturated(global const uchar16 *a, global const uchar16 *b, global uchar16 *out) {
    size_t i = get_global_id(0);
    out[i] = add_sat(a[i], b[i]);
}
