/* A range that the group size does not divide: the last groups are smaller (OpenCL C 2.0). */
__kernel void nonuniform(__global int *out, __global int *sums, __local int *t)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int w = get_local_size(0), h = get_local_size(1);
    const int i = y * get_global_size(0) + x;
    t[ly * w + lx] = i;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int last = t[w * h - 1];
    out[4 * i] = w * 100 + h;
    out[4 * i + 1] = get_enqueued_local_size(0) * 100 + get_enqueued_local_size(1);
    out[4 * i + 2] = last - i;
    out[4 * i + 3] = get_group_id(1) * get_num_groups(0) + get_group_id(0)
                     + 1000 * get_global_linear_id() + 1000000 * get_local_linear_id();
    if (lx == 0 && ly == 0) {
        int sum = 0;
        for (int k = 0; k < w * h; k++)
            sum += t[k];
        sums[get_group_id(1) * get_num_groups(0) + get_group_id(0)] = sum;
    }
}
