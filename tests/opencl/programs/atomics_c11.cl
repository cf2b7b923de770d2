/* Atomics of OpenCL C 2.0: types, orders, scopes, flags and fences. */
__kernel void atomics_c11(__global atomic_int *cells, __global atomic_uint *ucells,
                          __global int *old, __global const int *a)
{
    __local atomic_int arrived;
    __local int published[64];
    const int i = get_global_id(0), l = get_local_id(0);
    if (l == 0)
        atomic_init(&arrived, 0);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    published[l] = a[i];
    const int place =
        atomic_fetch_add_explicit(&arrived, 1, memory_order_acq_rel, memory_scope_work_group);
    atomic_fetch_max(&cells[0], a[i]);
    atomic_fetch_min_explicit(&cells[1], a[i], memory_order_relaxed, memory_scope_device);
    atomic_fetch_or(&ucells[0], 1u << (i & 31));
    atomic_fetch_xor(&ucells[1], (uint)a[i]);
    int expected = atomic_load(&cells[2]);
    while (!atomic_compare_exchange_strong(&cells[2], &expected, expected + a[i]))
        ;
    work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (l == 0) {
        int sum = 0;
        for (int k = 0; k < atomic_load(&arrived); k++)
            sum += published[k];
        atomic_store(&cells[3 + get_group_id(0)], sum);
    }
    old[i] = place;
}
