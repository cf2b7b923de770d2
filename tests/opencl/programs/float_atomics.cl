/* Floating-point sums without a float atomic: compare-and-swap of the bits. */
void add_float(volatile __global float *cell, float x)
{
    uint seen = as_uint(*cell);
    for (;;) {
        const uint was =
            atomic_cmpxchg((volatile __global uint *)cell, seen, as_uint(as_float(seen) + x));
        if (was == seen)
            return;
        seen = was;
    }
}

__kernel void float_atomics(volatile __global float *sums, __global const float *a, int bins)
{
    const int i = get_global_id(0);
    add_float(&sums[i % bins], a[i]);
    add_float(&sums[bins], a[i] * 0.5f);
}
