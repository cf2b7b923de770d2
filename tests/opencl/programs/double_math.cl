/* Math functions in double precision. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void double_math(__global const double *a, __global const double *b, __global double *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const double x = a[i], y = b[i];
    ROW(0, exp(x));
    ROW(1, log(y));
    ROW(2, sin(x));
    ROW(3, cos(x));
    ROW(4, pow(y, x));
    ROW(5, rsqrt(y));
    ROW(6, atan2(x, y));
    ROW(7, cbrt(x));
    ROW(8, tanh(x));
}
