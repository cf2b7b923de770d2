/* The sum of each group's 256 elements. One of the two kernels has a bug: which? */
#define SIZE 256

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
__kernel void reduce(__global const float *x, __global float *sums)
{
    __local float part[SIZE];
    const int i = get_local_id(0);
    part[i] = x[get_global_id(0)];
    for (int half_way = SIZE / 2; half_way > 0; half_way /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < half_way)
            part[i] += part[i + half_way];
    }
    if (i == 0)
        sums[get_group_id(0)] = part[0];
}

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
__kernel void reduce_quickly(__global const float *x, __global float *sums)
{
    __local float part[SIZE];
    const int i = get_local_id(0);
    part[i] = x[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_way = SIZE / 2; half_way > 0; half_way /= 2)
        if (i < half_way)
            part[i] += part[i + half_way];
    if (i == 0)
        sums[get_group_id(0)] = part[0];
}
