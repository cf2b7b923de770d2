/* Transposition through a padded tile, of 16-byte elements. */
__kernel void transpose(__global const uint4 *in, __global uint4 *out, int width, int height)
{
    __local uint4 tile[4][5];
    const int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_group_id(0) * 4 + lx, y = get_group_id(1) * 4 + ly;
    if (x < width && y < height)
        tile[ly][lx] = in[y * width + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 4 + lx;
    y = get_group_id(0) * 4 + ly;
    if (x < height && y < width)
        out[y * height + x] = tile[lx][ly].wzyx;
}
