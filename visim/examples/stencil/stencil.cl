/* A step of heat that spreads: each point becomes the mean of its four neighbours.
 *
 * plain reads all from memory; tiled reads a tile and its border into local memory first.
 * Global size: width x height, multiples of 16. The border of the picture stays as it is.
 */
#define T 16

__attribute__((reqd_work_group_size(T, T, 1)))
__kernel void plain(__global const float *from, __global float *to)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int w = get_global_size(0), h = get_global_size(1), at = y * w + x;
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1)
        to[at] = from[at];
    else
        to[at] = 0.25f * (from[at - 1] + from[at + 1] + from[at - w] + from[at + w]);
}

__attribute__((reqd_work_group_size(T, T, 1)))
__kernel void tiled(__global const float *from, __global float *to)
{
    __local float tile[T + 2][T + 2];
    const int x = get_global_id(0), y = get_global_id(1);
    const int w = get_global_size(0), h = get_global_size(1), at = y * w + x;
    const int i = get_local_id(0) + 1, j = get_local_id(1) + 1;
    tile[j][i] = from[at];
    if (i == 1 && x > 0)
        tile[j][0] = from[at - 1];
    if (i == T && x < w - 1)
        tile[j][T + 1] = from[at + 1];
    if (j == 1 && y > 0)
        tile[0][i] = from[at - w];
    if (j == T && y < h - 1)
        tile[T + 1][i] = from[at + w];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x == 0 || y == 0 || x == w - 1 || y == h - 1)
        to[at] = from[at];
    else
        to[at] = 0.25f * (tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i]);
}
