/* Math functions whose results are exact: they take numbers apart and put them together. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void math_exact(__global const float *a, __global const float *b, __global const int *e,
                         __global float *out, __global int *iout)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i], y = b[i];
    float whole;
    int exponent, bits;
    ROW(0, fmod(x, y));
    ROW(1, remainder(x, y));
    ROW(2, ldexp(x, e[i]));
    ROW(3, frexp(x, &exponent));
    ROW(4, modf(x, &whole));
    ROW(5, whole);
    ROW(6, nextafter(x, y));
    ROW(7, logb(y));
    ROW(8, maxmag(x, y));
    ROW(9, minmag(x, y));
    ROW(10, remquo(x, y, &bits));
    iout[i] = exponent;
    iout[i + n] = ilogb(x);
    iout[i + 2 * n] = bits & 7;
}
