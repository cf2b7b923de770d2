/* Exchange through local memory in groups whose size is no multiple of the SIMD width. */
__kernel void local_rotate(__global const int *a, __global int *out, __local int *tile, int by)
{
    const int l = get_local_id(0), n = get_local_size(0), i = get_global_id(0);
    tile[l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 3; k++) {
        const int other = tile[(l + by + k) % n];
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] = other + k;
        sum += other;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = sum * 1000 + tile[n - 1 - l];
}

/* Only some work-items write between the barriers, and the array is static and two-dimensional. */
__kernel void triangle(__global const ushort *a, __global uint *out)
{
    __local ushort rows[2][112];
    __local uint total;
    const int l = get_local_id(0), n = get_local_size(0), g = get_group_id(0);
    rows[0][l] = a[g * n + l];
    if (l == 0)
        total = g;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = n, side = 0; width > 1; width = (width + 1) / 2, side ^= 1) {
        if (l < (width + 1) / 2) {
            const ushort pair = 2 * l + 1 < width ? rows[side][2 * l + 1] : 0;
            rows[side ^ 1][l] = rows[side][2 * l] + pair;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0)
            total = total * 31 + rows[side ^ 1][0];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[g * n + l] = total + l;
}
