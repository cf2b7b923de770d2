/* native_* is one instruction or two of the device, half_* has at least 10 good bits. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void natives(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    ROW(0, native_exp(x));
    ROW(1, native_exp2(x));
    ROW(2, native_log(y));
    ROW(3, native_log2(y));
    ROW(4, native_sin(x));
    ROW(5, native_cos(x));
    ROW(6, native_sqrt(y));
    ROW(7, native_rsqrt(y));
    ROW(8, native_recip(y));
    ROW(9, native_divide(x, y));
    ROW(10, native_powr(y, x));
    ROW(11, native_exp10(x * 0.5f));
    ROW(12, native_log10(y));
}

__kernel void halves(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    ROW(0, half_exp(x));
    ROW(1, half_exp2(x));
    ROW(2, half_log(y));
    ROW(3, half_log2(y));
    ROW(4, half_sin(x));
    ROW(5, half_cos(x));
    ROW(6, half_sqrt(y));
    ROW(7, half_rsqrt(y));
    ROW(8, half_recip(y));
    ROW(9, half_divide(x, y));
    ROW(10, half_powr(y, x));
}
