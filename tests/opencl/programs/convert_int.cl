/* Conversions between integers, with and without saturation. */
__kernel void narrow(__global const int *a, __global char *c, __global uchar *uc,
                     __global short *s, __global ushort *us, __global uint *u)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const int x = a[i];
    c[i] = convert_char_sat(x);
    c[i + n] = convert_char(x);
    uc[i] = convert_uchar_sat(x);
    uc[i + n] = convert_uchar(x);
    s[i] = convert_short_sat(x);
    s[i + n] = (short)x;
    us[i] = convert_ushort_sat(x);
    us[i + n] = (ushort)x;
    u[i] = convert_uint_sat(x);
    u[i + n] = convert_uint_sat((char)x);
}

__kernel void from_long(__global const long *a, __global int *s, __global uint *u,
                        __global ulong *ul, __global uchar *uc)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const long x = a[i];
    s[i] = convert_int_sat(x);
    s[i + n] = convert_int_sat(as_ulong(x));
    u[i] = convert_uint_sat(x);
    u[i + n] = (uint)x;
    ul[i] = convert_ulong_sat(x);
    ul[i + n] = convert_ulong_sat((int)x);
    uc[i] = convert_uchar_sat(x);
    uc[i + n] = convert_uchar_sat(as_ulong(x));
}
