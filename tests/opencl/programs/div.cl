/* Every integer division by a variable: T is the element type. */
__kernel void divide(__global const T *a, __global const T *b, __global T *quotient,
                     __global T *remainder)
{
    const size_t i = get_global_id(0);
    const T x = a[i], y = b[i];
    quotient[i] = x / y;
    remainder[i] = x % y;
}

/* One divisor for all work-items: the compiler may divide it once, on a scalar. */
__kernel void divide_uniform(__global const T *a, __global T *quotient, __global T *remainder, T y)
{
    const size_t i = get_global_id(0);
    quotient[i] = a[i] / y;
    remainder[i] = a[i] % y;
}
