/* Every 32-bit atomic operation on global memory, with the old values it returns. */
__kernel void atomics_global(__global int *cells, __global uint *ucells, __global int *old,
                             __global const int *a, __global int *swap, __global int *swapped,
                             __global float *fswap, __global float *fswapped)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const int x = a[i];
    old[i] = atomic_add(&cells[0], 3);
    old[i + n] = atomic_sub(&cells[1], 2);
    old[i + 2 * n] = atomic_inc(&cells[2]);
    old[i + 3 * n] = atomic_dec(&cells[3]);
    atomic_add(&cells[4], 1 << (i & 3));
    swapped[i] = atomic_xchg(swap, i);
    atomic_min(&cells[5], x);
    atomic_max(&cells[6], x);
    atomic_and(&cells[7], x);
    atomic_or(&cells[8], x & 0x0f0f0f0f);
    atomic_xor(&cells[9], x);
    atomic_min(&ucells[0], (uint)x);
    atomic_max(&ucells[1], (uint)x);
    atomic_add(&cells[10 + (i & 3)], x);
    /* Retry until nobody came between: the cell becomes the product of all factors. */
    int seen = cells[14];
    for (;;) {
        const int was = atomic_cmpxchg(&cells[14], seen, seen * (2 * i + 1));
        if (was == seen)
            break;
        seen = was;
    }
    fswapped[i] = atomic_xchg(fswap, (float)i + 0.5f);
}
