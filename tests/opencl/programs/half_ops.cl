/* 16-bit floating-point arithmetic, scalar and in vectors. */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL FP_CONTRACT OFF
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void half_ops(__global const half *a, __global const half *b, __global half *out,
                       __global int *iout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const half x = a[i], y = b[i];
    ROW(0, x + y);
    ROW(1, x - y);
    ROW(2, x * y);
    ROW(3, fma(x, y, (half)0.5h));
    ROW(4, floor(x) + (half)1.0h);
    ROW(5, rint(x));
    ROW(6, fmin(x, y) + (half)0.0h);
    ROW(7, fmax(x, y) + (half)0.0h);
    ROW(8, fabs(x) < y ? -x : y);
    ROW(9, (half)((float)x * 1.1f));
    ROW(10, convert_half_rtz((float)y * 1.1f));
    ROW(11, (half)(int)x);
    iout[i] = convert_int_sat_rte(x) + 100000 * (x < y) + 200000 * isnan(x);
}

__kernel void half4_dot(__global const half4 *a, __global const half4 *b, __global half4 *out)
{
    const int i = get_global_id(0);
    const half4 x = a[i], y = b[i];
    const half4 z = x * y.wzyx - y;
    out[i] = (half4)(z.xy + z.zw, z.s02 * z.s13);
}
