/* 64-bit atomic operations on global memory. */
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

__kernel void atomics_64(__global long *cells, __global ulong *ucells, __global const long *a,
                         __global long *old, __global long *swap, __global long *swapped)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const long x = a[i];
    old[i] = atom_add(&cells[0], 0x100000001L);
    swapped[i] = atom_xchg(swap, (long)i << 33);
    old[i + n] = atom_inc(&cells[1]);
    atom_sub(&cells[2], x);
    atom_min(&cells[3], x);
    atom_max(&cells[4], x);
    atom_and(&cells[5], x);
    atom_or(&cells[6], x & 0x0ff00ff00ff00ff0L);
    atom_xor(&cells[7], x);
    atom_min(&ucells[0], as_ulong(x));
    atom_max(&ucells[1], as_ulong(x));
    long seen = cells[8];
    for (;;) {
        const long was = atom_cmpxchg(&cells[8], seen, seen * 3 + 1);
        if (was == seen)
            break;
        seen = was;
    }
}
