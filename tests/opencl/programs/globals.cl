/* Variables of the program in global memory keep their values from one launch to the next. */
__global int counter = 100;
__global int table[8] = {1, 2, 3, 4};
__global int *cursor = table + 1;

__kernel void bump(int by)
{
    atomic_add((volatile __global int *)&counter, by);
    if (get_global_id(0) < 8)
        cursor[get_global_id(0) - 1] += (int)get_global_id(0);
}

__kernel void read_back(__global int *out)
{
    const int i = get_global_id(0);
    out[i] = i == 0 ? counter : table[i - 1];
}
