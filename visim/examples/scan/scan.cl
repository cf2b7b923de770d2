/* Running sums: out[i] = x[0] + ... + x[i], for one group of 256 work-items and n elements.
 *
 * The group goes through the elements in pieces of its size and carries the sum along.
 */
#define SIZE 256

__attribute__((reqd_work_group_size(SIZE, 1, 1)))
__kernel void scan(__global const uint *x, __global uint *out, uint n)
{
    __local uint sums[2][SIZE];
    const uint i = get_local_id(0);
    uint carried = 0;
    for (uint start = 0; start < n; start += SIZE) {
        int now = 0;
        sums[now][i] = start + i < n ? x[start + i] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint far = 1; far < SIZE; far *= 2) {
            sums[1 - now][i] = sums[now][i] + (i >= far ? sums[now][i - far] : 0);
            now = 1 - now;
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (start + i < n)
            out[start + i] = carried + sums[now][i];
        carried += sums[now][SIZE - 1];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
