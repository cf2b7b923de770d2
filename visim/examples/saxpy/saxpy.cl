/* y = a * x + y for n elements; the range may be larger than n. */
__kernel void saxpy(__global const float *x, __global float *y, float a, int n)
{
    const int i = get_global_id(0);
    if (i < n)
        y[i] = a * x[i] + y[i];
}
