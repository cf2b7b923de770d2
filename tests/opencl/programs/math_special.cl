/* Error and gamma functions: long polynomials chosen by the argument. */
#define ROW(k, value) out[(k) * n + i] = (value)

__kernel void special(__global const float *a, __global float *out)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = a[i];
    ROW(0, erf(x));
    ROW(1, erfc(x));
    ROW(2, tgamma(fabs(x) + 0.25f));
}
