/* Edit distance of one pair of strings a group: the anti-diagonals are a wavefront in SLM. */
__kernel void levenshtein(__global const uchar *left, __global const uchar *right,
                          __global const int2 *lengths, __global int *distance, int stride)
{
    __local int diagonal[3][40];
    const int g = get_group_id(0), l = get_local_id(0);
    const int n = lengths[g].x, m = lengths[g].y;
    for (int d = 0; d <= n + m; d++) {
        __local int *now = diagonal[d % 3];
        __local const int *last = diagonal[(d + 2) % 3], *before = diagonal[(d + 1) % 3];
        /* Work-item l has the cells of row l. */
        const int j = d - l;
        if (l <= n && j >= 0 && j <= m) {
            int best;
            if (l == 0 || j == 0) {
                best = l + j;
            } else {
                const int same = left[g * stride + l - 1] == right[g * stride + j - 1];
                best = min(before[l - 1] + 1 - same, min(last[l - 1], last[l]) + 1);
            }
            now[l] = best;
            if (l == n && j == m)
                distance[g] = best;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
