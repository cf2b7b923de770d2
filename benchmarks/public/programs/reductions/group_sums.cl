/* Sums of integers: each work-item adds eight, a group meets in local memory. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void group_sums(global const int *in, global int *out) {
    local int part[256];
    int l = get_local_id(0), at = get_group_id(0) * 2048 + l, sum = 0;
    for (int k = 0; k < 8; ++k) sum += in[at + k * 256];
    part[l] = sum;
    for (int d = 128; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
