/* Five-point stencil on a tile with a halo; the last row and column of groups hang over. */
__kernel void stencil(__global const float *in, __global float *out, int width, int height,
                      __local float *tile)
{
    const int tw = get_local_size(0) + 2;
    const int lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    const int x = get_global_id(0), y = get_global_id(1);
    const int cx = min(x, width - 1), cy = min(y, height - 1);
    tile[ly * tw + lx] = in[cy * width + cx];
    if (lx == 1)
        tile[ly * tw] = in[cy * width + max(cx - 1, 0)];
    if (lx == (int)get_local_size(0))
        tile[ly * tw + lx + 1] = in[cy * width + min(x + 1, width - 1)];
    if (ly == 1)
        tile[lx] = in[max(cy - 1, 0) * width + cx];
    if (ly == (int)get_local_size(1))
        tile[(ly + 1) * tw + lx] = in[min(y + 1, height - 1) * width + cx];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;
    const float c = tile[ly * tw + lx];
    float sum = tile[ly * tw + lx - 1] + tile[ly * tw + lx + 1];
    sum += tile[(ly - 1) * tw + lx] + tile[(ly + 1) * tw + lx];
    out[y * width + x] = fma(sum - 4.0f * c, 0.125f, c);
}
