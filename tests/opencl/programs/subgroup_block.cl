/* Block reads and writes: a sub-group moves consecutive words at once. */
#pragma OPENCL EXTENSION cl_intel_subgroups : enable
#pragma OPENCL EXTENSION cl_intel_subgroups_short : enable

__attribute__((intel_reqd_sub_group_size(16)))
__kernel void blocks(__global const uint *a, __global uint *out, __global const ushort *h,
                     __global ushort *hout)
{
    const uint first = (get_group_id(0) * get_num_sub_groups() + get_sub_group_id()) * 16;
    const uint count = get_global_size(0);
    const uint x = intel_sub_group_block_read(a + first);
    const uint2 y = intel_sub_group_block_read2(a + 2 * first);
    const uint4 z = intel_sub_group_block_read4(a + 4 * first);
    const uint8 w = intel_sub_group_block_read8(a + 8 * first);
    intel_sub_group_block_write(out + first, x + y.x * 3 + z.w * 5 + w.s7);
    intel_sub_group_block_write4(out + count + 4 * first, (uint4)(y, w.s25) + z.wzyx);
    const ushort s = intel_sub_group_block_read_us(h + first);
    const ushort4 t = intel_sub_group_block_read_us4(h + 4 * first);
    intel_sub_group_block_write_us(hout + first, s + t.x);
    intel_sub_group_block_write_us2(hout + count + 2 * first, t.yz * s);
}
