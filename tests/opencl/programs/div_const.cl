/* Division by constants becomes multiplication by a reciprocal, shifts and corrections. */
#define DIVIDE(k, d) quotient[(k) * n + i] = x / (d); remainder[(k) * n + i] = x % (d)

__kernel void divide_constants(__global const T *a, __global T *quotient, __global T *remainder)
{
    const size_t i = get_global_id(0), n = get_global_size(0);
    const T x = a[i];
    DIVIDE(0, (T)3);
    DIVIDE(1, (T)7);
    DIVIDE(2, (T)10);
    DIVIDE(3, (T)16);
    DIVIDE(4, (T)100);
    DIVIDE(5, (T)127);
    DIVIDE(6, BIG);
    DIVIDE(7, NEGATIVE);
}
