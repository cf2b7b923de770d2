/* Saturation, averages and wrap-around in 8 and 16 bits. */
__kernel void bytes(__global const char4 *a, __global const char4 *b, __global char4 *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const char4 x = a[i], y = b[i];
    out[i] = add_sat(x, y);
    out[i + n] = sub_sat(x, y);
    out[i + 2 * n] = hadd(x, y);
    out[i + 3 * n] = rotate(x, y);
    out[i + 4 * n] = x * y + (x >> (char4)(1));
    out[i + 5 * n] = max(x, y) - min(x, (char4)(3));
    out[i + 6 * n] = as_char4(abs_diff(x, y));
    out[i + 7 * n] = convert_char4(popcount(x) + clz(y));
}

__kernel void words(__global const ushort *a, __global const ushort *b, __global ushort *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const ushort u = a[i], v = b[i];
    const short x = as_short(u), y = as_short(v);
    out[i] = add_sat(u, v);
    out[i + n] = as_ushort(add_sat(x, y));
    out[i + 2 * n] = sub_sat(u, v);
    out[i + 3 * n] = as_ushort(sub_sat(x, y));
    out[i + 4 * n] = rhadd(u, v);
    out[i + 5 * n] = mul_hi(u, v);
    out[i + 6 * n] = as_ushort(mul_hi(x, y));
    out[i + 7 * n] = (ushort)(u * v + (u >> (v & 15)));
}
