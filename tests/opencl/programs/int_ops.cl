/* Mixed 32-bit arithmetic: every operator whose result wraps, and shifts by a variable. */
__kernel void int_ops(__global const int *a, __global const int *b, __global int *out,
                      __global uint *uout, int n, char bias)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;
    const int x = a[i], y = b[i];
    const uint u = as_uint(x), v = as_uint(y);
    int r = x * y + (x >> (y & 31)) - (y << (x & 31));
    r ^= (x & y) | ~(x ^ 0x5a5a5a5a);
    r += mul_hi(x, y) + min(x, y) - max(x, ~y);
    r = x > y ? r - bias : r + bias;
    r += (x == y) + 2 * (x < 0 && y < 0) + 4 * (x <= y || !x);
    out[i] = r;
    uint w = u * v + (u >> (v & 31u)) + mul_hi(u, v);
    w = w ^ (u > v ? u - v : v - u);
    w += max(u, v) * 3u - min(u, 17u);
    w = (w << 7) | (w >> 25);
    uout[i] = w + (u < v) + (uint)clamp(x, -100, 100);
}
