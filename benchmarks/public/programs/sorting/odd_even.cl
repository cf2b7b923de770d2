/* 128 integers of a group are sorted by exchanges of neighbours. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void odd_even(global const int *in, global int *out) {
    local int keys[128];
    int l = get_local_id(0), at = get_group_id(0) * 128;
    keys[l] = in[at + l];
    keys[l + 64] = in[at + l + 64];
    for (int k = 0; k < 128; ++k) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int i = 2 * l + (k & 1);
        if (i < 127) {
            int a = keys[i], b = keys[i + 1];
            keys[i] = min(a, b);
            keys[i + 1] = max(a, b);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[at + l] = keys[l];
    out[at + l + 64] = keys[l + 64];
}
