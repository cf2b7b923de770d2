/* A scan of a whole array: scans of groups, a scan of their sums, and what adds these. */
void scan_group(local int *part, int l, int n) {
    for (int d = 1; d < n; d *= 2) {
        int before = l >= d ? part[l - d] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        part[l] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
kernel void scan_groups(global const int *in, global int *out, global int *sums,
                        local int *part) {
    int l = get_local_id(0), n = get_local_size(0);
    part[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    scan_group(part, l, n);
    out[get_global_id(0)] = part[l];
    if (l == n - 1) sums[get_group_id(0)] = part[l];
}
kernel void scan_sums(global int *sums, int count, local int *part) {
    int l = get_local_id(0), n = get_local_size(0), before = 0;
    for (int at = 0; at < count; at += n) {
        part[l] = at + l < count ? sums[at + l] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        scan_group(part, l, n);
        if (at + l < count) sums[at + l] = before + part[l];
        before += part[n - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
kernel void add_sums(global int *out, global const int *sums) {
    int group = get_group_id(0);
    if (group > 0) out[get_global_id(0)] += sums[group - 1];
}
