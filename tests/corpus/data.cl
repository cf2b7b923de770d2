__constant int squares[4] = {0, 1, 4, 9};
__constant int cubes[4] = {0, 1, 8, 27};
__constant int *__constant rows[3] = {squares, cubes, cubes + 2};
__global int counter = 7;
__global int zeros[16];
__global int *pointer = &counter;

__kernel void look_up(__global int *out, int row)
{
    int i = get_global_id(0);
    out[i] = rows[row][i & 1] + *pointer + zeros[i & 15];
    zeros[i & 15] = i;
}

__kernel __attribute__((reqd_work_group_size(16, 4, 1)))
void rotate(__global int *out, __local int *scratch, uint4 shifts)
{
    __local int first;
    int i = get_local_id(0) + 16 * get_local_id(1);
    scratch[i] = out[i];
    if (i == 0)
        first = out[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = scratch[(i + shifts.y) & 63] + first;
    printf("%s %d\n", "turned", i);
}
