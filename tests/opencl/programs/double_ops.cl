/* Double precision: exact operators, conversions, and a reduction in which rounding shows. */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void double_ops(__global const double *a, __global const double *b, __global double *out,
                         __global long *lout, __global float *fout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const double x = a[i], y = b[i];
    ROW(0, x + y);
    ROW(1, x - y);
    ROW(2, x * y);
    ROW(3, x / y);
    ROW(4, fma(x, y, -x));
    ROW(5, sqrt(fabs(x)));
    ROW(6, floor(x) - ceil(y));
    ROW(7, rint(x) + trunc(y));
    ROW(8, x < y ? fmax(x, 1.0) : fmin(y, -1.0));
    ROW(9, (double)(long)i * 1e300 + (double)as_ulong(x));
    ROW(10, (double)(float)x);
    ROW(11, (double)((int)i - 100) / 7.0);
    lout[i] = convert_long_sat(x);
    lout[i + n] = convert_int_sat_rte(y);
    fout[i] = convert_float(x);
    fout[i + n] = convert_float_rtz(y);
}

/* Compensated sum of one row: the low part is what plain addition loses. */
__kernel void kahan(__global const double *a, __global double2 *out, int count)
{
    const int i = get_global_id(0);
    double sum = 0.0, low = 0.0;
    for (int k = 0; k < count; k++) {
        const double y = a[i * count + k] - low;
        const double t = sum + y;
        low = (t - sum) - y;
        sum = t;
    }
    out[i] = (double2)(sum, low);
}
