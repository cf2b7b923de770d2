/* Exponentials and logarithms. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void exponentials(__global const float *a, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i];
    ROW(0, exp(x));
    ROW(1, exp2(x));
    ROW(2, exp10(x * 0.25f));
    ROW(3, expm1(x));
    ROW(4, sinh(x));
    ROW(5, cosh(x));
    ROW(6, tanh(x));
}

__kernel void logarithms(__global const float *a, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i];
    ROW(0, log(x));
    ROW(1, log2(x));
    ROW(2, log10(x));
    ROW(3, log1p(x));
    ROW(4, asinh(x));
    ROW(5, acosh(x));
    ROW(6, atanh(x));
}
