/* The first kernel of a radix sort: how often each digit of four bits is in a block of 1024. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void digit_counts(global const uint *keys, global uint *counts, int shift) {
    local uint own[16];
    int l = get_local_id(0), group = get_group_id(0);
    if (l < 16) own[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; ++k)
        atomic_inc(&own[(keys[group * 1024 + k * 64 + l] >> shift) & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16) counts[l * get_num_groups(0) + group] = own[l];
}
