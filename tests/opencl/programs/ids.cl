/* Every work-item function, in three dimensions with an offset. */
__kernel void ids(__global int *out)
{
    const int x = get_global_id(0) - get_global_offset(0);
    const int y = get_global_id(1) - get_global_offset(1);
    const int z = get_global_id(2) - get_global_offset(2);
    const int i = (z * get_global_size(1) + y) * get_global_size(0) + x;
    __global int *row = out + 16 * i;
    for (int d = 0; d < 3; d++) {
        row[d] = get_global_id(d);
        row[3 + d] = get_local_id(d);
        row[6 + d] = get_group_id(d);
        row[9 + d] = get_local_size(d) * 100 + get_num_groups(d);
    }
    row[12] = get_work_dim();
    row[13] = get_global_size(0) * 10000 + get_global_size(1) * 100 + get_global_size(2);
    row[14] = get_global_offset(0) + 100 * get_global_offset(1) + 10000 * get_global_offset(2);
    const uint last = get_work_dim() - 1; /* a dimension known at run time only */
    row[15] = get_global_id(last) * 10 + get_local_size(last);
}
