/* 64-bit arithmetic, which most devices build from 32-bit halves. */
__kernel void long_ops(__global const long *a, __global const long *b, __global long *out,
                       __global ulong *uout)
{
    const int i = get_global_id(0);
    const long x = a[i], y = b[i];
    const ulong u = as_ulong(x), v = as_ulong(y);
    long r = x * y + (x >> (y & 63)) - (y << (x & 63));
    r ^= (x & y) | ~(x + 0x123456789abcdefL);
    r += x < y ? min(x, 5L) : max(y, -7L);
    r += mul_hi(x, y);
    r -= (long)(int)x * (int)y;
    out[i] = r + popcount(x) - clz(y);
    ulong w = u * 6364136223846793005UL + 1442695040888963407UL;
    w ^= w >> (int)(u >> 59);
    w = rotate(w, v & 63UL) + mul_hi(u, v);
    w += (ulong)(uint)u * (uint)v;
    uout[i] = (w > u ? w - u : u - w) + abs_diff(x, y);
}

/* Conversions between the widths, and carries across the halves. */
__kernel void fibonacci128(__global const uint *steps, __global ulong2 *out)
{
    const int i = get_global_id(0);
    ulong lo = 0, hi = 0, next_lo = 1, next_hi = 0;
    for (uint k = steps[i]; k > 0; k--) {
        const ulong sum = lo + next_lo;
        const ulong carry = sum < lo;
        const ulong sum_hi = hi + next_hi + carry;
        lo = next_lo;
        hi = next_hi;
        next_lo = sum;
        next_hi = sum_hi;
    }
    out[i] = (ulong2)(lo, hi);
}
