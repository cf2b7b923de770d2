/* Vectors of small types: three elements, sixteen elements, swizzles, shuffles, odd strides. */
__kernel void three(__global const char *a, __global char *out)
{
    const int i = get_global_id(0);
    char3 v = vload3(i, a);
    v = v.zxy * (char3)(3, -5, 7) + (char)i;
    v.y = max(v.x, v.z);
    vstore3(v, i, out);
}

__kernel void sixteen(__global const uchar16 *a, __global const uchar16 *order,
                      __global uchar16 *out, __global uint *sums)
{
    const int i = get_global_id(0);
    const uchar16 v = a[i];
    uchar16 s = shuffle(v, order[i]);
    s.s0f = s.sf0;
    s.even = s.even > v.odd ? s.even : v.odd;
    const ushort8 pairs = convert_ushort8(s.lo) * (ushort)3 + convert_ushort8(v.hi);
    const uint4 quads = convert_uint4(pairs.lo) + convert_uint4(pairs.hi);
    out[i] = s;
    sums[i] = quads.x + quads.y * 2 + quads.z * 3 + quads.w * 5;
}

__kernel void eight(__global const short8 *a, __global const short8 *b, __global short8 *out,
                    __global int *any_all)
{
    const int i = get_global_id(0);
    const short8 x = a[i], y = b[i];
    const short8 less = x < y;
    out[i] = select(x, y, less) - (y >> (short8)(2)) + shuffle2(x, y, (ushort8)(0, 8, 1, 9, 2, 10, 15, 7));
    any_all[i] = any(less) + 2 * all(less) + 4 * any(x == y);
}

__kernel void unaligned(__global const short *a, __global int *out)
{
    const int i = get_global_id(0);
    const short4 v = vload4(0, a + i);
    out[i] = as_int(v.s02) ^ as_int(v.s31);
}
