/* Counts of bytes: atomic additions to 256 counters of a group, which are added to the result. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void byte_counts(global const uchar4 *in, global uint *counts) {
    local uint own[256];
    int l = get_local_id(0);
    own[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k) {
        uchar4 four = in[get_group_id(0) * 4096 + k * 256 + l];
        atomic_inc(&own[four.x]);
        atomic_inc(&own[four.y]);
        atomic_inc(&own[four.z]);
        atomic_inc(&own[four.w]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[l], own[l]);
}
