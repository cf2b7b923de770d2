/* Powers and roots. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void powers(__global const float *a, __global const float *b, __global const int *e,
                     __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    ROW(0, pow(x, y));
    ROW(1, powr(fabs(x), y));
    ROW(2, pown(x, e[i]));
    ROW(3, rootn(fabs(x), (e[i] & 7) + 1));
    ROW(4, cbrt(x));
    ROW(5, hypot(x, y));
}

__kernel void roots(__global const float *a, __global const float *b, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    ROW(0, sqrt(x));
    ROW(1, rsqrt(x));
    ROW(2, x / y);
    ROW(3, 1.0f / y);
    ROW(4, length((float3)(x, y, 1.0f)));
    ROW(5, distance((float2)(x, y), (float2)(y, 2.0f)));
}
