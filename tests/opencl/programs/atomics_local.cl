/* Atomic operations on local memory, and a lock-free list built with exchange. */
__kernel void atomics_local(__global const int *a, __global int *out, __global int *order)
{
    __local int cells[10];
    __local int head, next[64];
    const int l = get_local_id(0), g = get_group_id(0), n = get_local_size(0);
    const int x = a[get_global_id(0)];
    if (l < 10)
        cells[l] = l == 3 ? -1 : l == 5 ? 1000000 : l == 6 ? -1000000 : 0;
    if (l == 0)
        head = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
    const int ticket = atomic_inc(&cells[0]);
    atomic_add(&cells[1], x);
    atomic_sub(&cells[2], x);
    atomic_and(&cells[3], x | 0xff);
    atomic_or(&cells[4], x & 0xffff);
    atomic_min(&cells[5], x);
    atomic_max(&cells[6], x);
    atomic_xor(&cells[7], x);
    atomic_dec(&cells[8]);
    if (x & 1)
        atomic_cmpxchg(&cells[9], 0, 7);
    next[l] = atomic_xchg(&head, l);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 10)
        out[g * 10 + l] = cells[l];
    order[g * (n + 1) + l] = ticket;
    if (l == 0) {
        int length = 0, sum = 0;
        for (int k = head; k >= 0 && length <= n; k = next[k]) {
            length++;
            sum += k;
        }
        order[g * (n + 1) + n] = length * 10000 + sum;
    }
}
