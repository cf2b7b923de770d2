/* Single precision where the result is exact by definition: one rounding for each operator. */
#pragma OPENCL FP_CONTRACT OFF
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void float_ops(__global const float *a, __global const float *b, __global const float *c,
                        __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i], z = c[i];
    ROW(0, x + y);
    ROW(1, x - y);
    ROW(2, x * y);
    ROW(3, x * y + z);
    ROW(4, fma(x, y, z));
    ROW(5, fma(x, y, -x * y));
    ROW(6, floor(x) + ceil(y));
    ROW(7, trunc(x) - rint(y));
    ROW(8, round(x) + 0.0f);
    ROW(9, fmin(x, y) + 0.0f);
    ROW(10, fmax(x, z) + 0.0f);
    ROW(11, fabs(x) - copysign(y, z));
    ROW(12, isnan(x) ? 2.0f : clamp(x, -1.0f, 1.0f));
    ROW(13, x < y ? x : (y >= z ? z : -y));
    ROW(14, isnan(x) || isnan(y) ? 3.0f : step(y, x) + sign(z));
    ROW(15, fdim(x, y));
}

__kernel void float_tests(__global const float *a, __global const float *b, __global int *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    int r = isnan(x) | isinf(x) << 1 | isfinite(x) << 2 | isnormal(x) << 3 | signbit(x) << 4;
    r |= (x == y) << 5 | (x != y) << 6 | (x < y) << 7 | (x <= y) << 8 | (x > y) << 9;
    r |= isunordered(x, y) << 10 | isordered(x, y) << 11 | islessgreater(x, y) << 12;
    out[i] = r | !(x >= y) << 13;
    const int4 all = isgreater((float4)(x, y, x, 0.0f), (float4)(y, x, 0.0f, y));
    out[i + n] = all.x + 2 * all.y + 4 * all.z + 8 * all.w;
}

/* Built with correctly rounded division and square root. */
__kernel void rounded(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    ROW(0, a[i] / b[i]);
    ROW(1, 1.0f / b[i]);
    ROW(2, sqrt(fabs(a[i])));
    ROW(3, sqrt(fabs(a[i] / 3.0f)) / b[i]);
}
