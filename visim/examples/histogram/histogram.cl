/* How often each value of a byte is in a picture. Groups count in local memory, then add up. */
__kernel void histogram(__global const uchar *pixels, __global uint *counts, int n)
{
    __local uint mine[256];
    for (int i = get_local_id(0); i < 256; i += get_local_size(0))
        mine[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&mine[pixels[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_local_id(0); i < 256; i += get_local_size(0))
        if (mine[i])
            atomic_add(&counts[i], mine[i]);
}
