/* Transforms of 256 complex numbers, each in the local memory of a group of 128. */
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void local_fft(global const float2 *in, global const float2 *factors, global float2 *out) {
    local float2 one[256], two[256];
    local float2 *from = one, *to = two;
    int l = get_local_id(0), at = get_group_id(0) * 256;
    one[l] = in[at + l];
    one[l + 128] = in[at + l + 128];
    for (int span = 1; span < 256; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int k = l & (span - 1), j = 2 * l - k;
        float2 a = from[l], b = from[l + 128], w = factors[k * (128 / span)];
        float2 t = (float2)(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
        to[j] = a + t;
        to[j + span] = a - t;
        local float2 *other = from;
        from = to;
        to = other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[at + l] = from[l];
    out[at + l + 128] = from[l + 128];
}
