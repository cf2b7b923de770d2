/* Trigonometry, with arguments large enough for the long reduction. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void circular(__global const float *a, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i];
    float c;
    ROW(0, sin(x));
    ROW(1, cos(x));
    ROW(2, tan(x));
    ROW(3, sincos(x, &c));
    ROW(4, c);
    ROW(5, sinpi(x));
    ROW(6, cospi(x));
}

__kernel void inverse(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    ROW(0, asin(x));
    ROW(1, acos(x));
    ROW(2, atan(y));
    ROW(3, atan2(y, x));
    ROW(4, asinpi(x));
    ROW(5, atanpi(y));
}
