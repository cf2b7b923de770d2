/* Collective functions of a work-group (OpenCL C 2.0). */
__kernel void work_group(__global const int *a, __global int *out, __global const float *f,
                         __global float *fout, __global const ulong *u, __global ulong *uout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const int x = a[i];
    out[i] = work_group_reduce_add(x);
    out[i + n] = work_group_scan_exclusive_add(x);
    out[i + 2 * n] = work_group_scan_inclusive_max(x);
    out[i + 3 * n] = work_group_reduce_min(x);
    out[i + 4 * n] = work_group_broadcast(x, 5);
    out[i + 5 * n] = work_group_any(x > 990) + 2 * work_group_all(x > -1000);
    out[i + 6 * n] = work_group_scan_exclusive_min(x);
    fout[i] = work_group_reduce_max(f[i]);
    fout[i + n] = work_group_scan_inclusive_add(f[i]);
    uout[i] = work_group_scan_inclusive_add(u[i]);
}
