/* One round of k-means in integers: nearest centre, then sums by local and global atomics. */
__kernel void kmeans(__global const short2 *points, __global const short2 *centres,
                     __global uchar *nearest, __global int *sums, int count, int k)
{
    __local int mine[3 * 8];
    const int l = get_local_id(0);
    if (l < 3 * k)
        mine[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int i = get_global_id(0);
    if (i < count) {
        const int2 p = convert_int2(points[i]);
        int best = INT_MAX, chosen = 0;
        for (int c = 0; c < k; c++) {
            const int2 d = p - convert_int2(centres[c]);
            const int distance = mad24(d.x, d.x, mul24(d.y, d.y));
            if (distance < best) {
                best = distance;
                chosen = c;
            }
        }
        nearest[i] = (uchar)chosen;
        atomic_add(&mine[3 * chosen], p.x);
        atomic_add(&mine[3 * chosen + 1], p.y);
        atomic_inc(&mine[3 * chosen + 2]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 3 * k)
        atomic_add(&sums[l], mine[l]);
}
