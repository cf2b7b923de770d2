/* Euclid's algorithm: a division in a loop that work-items leave at different times, with
 * float arithmetic right behind it, which must see the usual rounding mode again. */
#pragma OPENCL FP_CONTRACT OFF

__kernel void gcd(__global const uint *a, __global const uint *b, __global uint *out,
                  __global float *mean)
{
    const int i = get_global_id(0);
    uint x = a[i], y = b[i];
    float sum = 0.0f;
    uint steps = 0;
    while (y != 0) {
        const uint r = x % y;
        sum += (float)(x / y) / 3.0f;
        x = y;
        y = r;
        steps++;
    }
    out[i] = x;
    mean[i] = steps == 0 ? 0.0f : sum * 0.1f + (float)steps;
}

__kernel void gcd64(__global const long *a, __global const long *b, __global long *out)
{
    const int i = get_global_id(0);
    long x = a[i], y = b[i];
    while (y != 0) {
        const long r = x % y;
        x = y;
        y = r;
    }
    out[i] = x < 0 ? -x : x;
}
