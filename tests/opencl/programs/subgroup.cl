/* Sub-groups of 16: reductions, scans, broadcasts, votes, on full and partial sub-groups. */
#pragma OPENCL EXTENSION cl_intel_subgroups : enable

__attribute__((intel_reqd_sub_group_size(16)))
__kernel void subgroup(__global const int *a, __global int *out, __global const float *f,
                       __global float *fout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const int x = a[i];
    out[i] = sub_group_reduce_add(x);
    out[i + n] = sub_group_scan_exclusive_add(x);
    out[i + 2 * n] = sub_group_scan_inclusive_add(x);
    out[i + 3 * n] = sub_group_reduce_min(x) - sub_group_reduce_max(x);
    out[i + 4 * n] = sub_group_scan_inclusive_max(x);
    out[i + 5 * n] = sub_group_broadcast(x, 2);
    out[i + 6 * n] = sub_group_any(x > 900) + 2 * sub_group_all(x > -900);
    out[i + 7 * n] = get_sub_group_id() + 10 * get_sub_group_local_id()
                     + 1000 * get_sub_group_size() + 100000 * get_num_sub_groups()
                     + 1000000 * get_max_sub_group_size();
    fout[i] = sub_group_reduce_add(f[i]);
    fout[i + n] = sub_group_scan_exclusive_max(f[i]);
}

__attribute__((intel_reqd_sub_group_size(16)))
__kernel void divergent(__global const int *a, __global int *out)
{
    const int i = get_global_id(0);
    int r = -1;
    if (sub_group_any(a[i] > 950)) {
        /* The condition is the same in the whole sub-group. */
        r = sub_group_reduce_max(a[i]);
        for (int k = 0; k < (a[i] & 3); k++)
            r += k;
    }
    out[i] = r;
}
