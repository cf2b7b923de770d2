/* Work-efficient exclusive scan of each block, then the blocks' sums are added. */
__kernel void scan_blocks(__global const uint *a, __global uint *out, __global uint *sums,
                          __local uint *t)
{
    const uint l = get_local_id(0), n = 2 * get_local_size(0), base = get_group_id(0) * n;
    t[2 * l] = a[base + 2 * l];
    t[2 * l + 1] = a[base + 2 * l + 1];
    uint offset = 1;
    for (uint d = n >> 1; d > 0; d >>= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d)
            t[offset * (2 * l + 2) - 1] += t[offset * (2 * l + 1) - 1];
        offset *= 2;
    }
    if (l == 0) {
        sums[get_group_id(0)] = t[n - 1];
        t[n - 1] = 0;
    }
    for (uint d = 1; d < n; d *= 2) {
        offset >>= 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            const uint low = offset * (2 * l + 1) - 1, high = offset * (2 * l + 2) - 1;
            const uint x = t[low];
            t[low] = t[high];
            t[high] += x;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + 2 * l] = t[2 * l];
    out[base + 2 * l + 1] = t[2 * l + 1];
}

__kernel void add_sums(__global uint *out, __global const uint *sums)
{
    uint before = 0;
    for (uint g = 0; g < get_group_id(0); g++)
        before += sums[g];
    out[get_global_id(0)] += before;
}
