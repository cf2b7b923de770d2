/* One float4 of each work-item moves from one array to another. */
kernel void quadruple(global const float4 *in, global float4 *out) {
    size_t i = get_global_id(0);
    out[i] = in[i];
}
