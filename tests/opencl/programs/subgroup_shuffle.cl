/* Shuffles between the work-items of a sub-group. */
#pragma OPENCL EXTENSION cl_intel_subgroups : enable

__attribute__((intel_reqd_sub_group_size(16)))
__kernel void shuffles(__global const int *a, __global const uint *index, __global int *out,
                       __global const float2 *f, __global float2 *fout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const uint l = get_sub_group_local_id();
    const int x = a[i];
    out[i] = intel_sub_group_shuffle(x, index[i] & 15);
    out[i + n] = intel_sub_group_shuffle_xor(x, 5);
    out[i + 2 * n] = intel_sub_group_shuffle_down(x, a[n - 1 - i], index[0] & 15);
    out[i + 3 * n] = intel_sub_group_shuffle_up(a[n - 1 - i], x, 3);
    out[i + 4 * n] = intel_sub_group_shuffle(x, 15 - l) + intel_sub_group_shuffle(x, 7);
    fout[i] = intel_sub_group_shuffle(f[i], (l + 1) & 15);
}

/* Butterfly sum: after four exchanges everybody has the total. */
__attribute__((intel_reqd_sub_group_size(16)))
__kernel void butterfly(__global const long *a, __global long *out)
{
    const int i = get_global_id(0);
    long x = a[i];
    for (uint step = 1; step < 16; step <<= 1)
        x += intel_sub_group_shuffle_xor(x, step);
    out[i] = x;
}
