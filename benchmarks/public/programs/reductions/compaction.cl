/* What is positive moves to the front of its group's part of the result, in order. */
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void compaction(global const int *in, global int *out, global int *kept) {
    local int place[128];
    int l = get_local_id(0), i = get_global_id(0), value = in[i], keeps = value > 0;
    place[l] = keeps;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int d = 1; d < 128; d *= 2) {
        int before = l >= d ? place[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        place[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (keeps) out[i - l + place[l] - 1] = value;
    if (l == 127) kept[get_group_id(0)] = place[l];
}
