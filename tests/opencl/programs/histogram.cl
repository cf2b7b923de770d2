/* A histogram for each group in local memory, then one atomic addition a bin. */
__kernel void histogram(__global const uchar4 *pixels, __global uint *bins, int count)
{
    __local uint mine[64];
    const int l = get_local_id(0);
    for (int k = l; k < 64; k += get_local_size(0))
        mine[k] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < count; i += get_global_size(0)) {
        const uchar4 p = pixels[i];
        const uint luma = (p.x * 77u + p.y * 150u + p.z * 29u) >> 8;
        atomic_inc(&mine[luma >> 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < 64; k += get_local_size(0))
        if (mine[k] != 0)
            atomic_add(&bins[k], mine[k]);
}
