/* Float to integer with each rounding mode, and integer to float. */
__kernel void to_int(__global const float *a, __global int *s, __global uint *u, __global char *c,
                     __global ushort *us)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i];
    s[i] = convert_int_sat(x);
    s[i + n] = convert_int_sat_rte(x);
    s[i + 2 * n] = convert_int_sat_rtp(x);
    s[i + 3 * n] = convert_int_sat_rtn(x);
    u[i] = convert_uint_sat(x);
    u[i + n] = convert_uint_sat_rte(x);
    u[i + 2 * n] = convert_uint_sat_rtp(x);
    u[i + 3 * n] = convert_uint_sat_rtn(x);
    c[i] = convert_char_sat(x);
    c[i + n] = convert_char_sat_rte(x);
    us[i] = convert_ushort_sat_rtz(x);
    us[i + n] = convert_ushort_sat_rtp(x);
}

__kernel void to_float(__global const int *a, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const int x = a[i];
    out[i] = (float)x;
    out[i + n] = convert_float_rtz(x);
    out[i + 2 * n] = convert_float_rtp(x);
    out[i + 3 * n] = convert_float_rtn(x);
    out[i + 4 * n] = (float)as_uint(x);
    out[i + 5 * n] = convert_float_rtz(as_uint(x));
    out[i + 6 * n] = convert_float((short)x) + convert_float((uchar)x);
}

__kernel void long_to_float(__global const long *a, __global float *out, __global const float *b,
                            __global long *back, __global ulong *uback)
{
    const int i = get_global_id(0), n = get_global_size(0);
    out[i] = (float)a[i];
    out[i + n] = (float)as_ulong(a[i]);
    back[i] = convert_long_sat(b[i]);
    uback[i] = convert_ulong_sat(b[i]);
}
