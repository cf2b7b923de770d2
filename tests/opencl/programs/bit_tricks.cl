/* The integer built-ins, one row of the output for each. */
#define ROW(k, value) out[(k) * n + i] = (value)

uint reverse_bits(uint v)
{
    v = ((v >> 1) & 0x55555555u) | ((v & 0x55555555u) << 1);
    v = ((v >> 2) & 0x33333333u) | ((v & 0x33333333u) << 2);
    v = ((v >> 4) & 0x0f0f0f0fu) | ((v & 0x0f0f0f0fu) << 4);
    v = ((v >> 8) & 0x00ff00ffu) | ((v & 0x00ff00ffu) << 8);
    return (v >> 16) | (v << 16);
}

__kernel void bit_tricks(__global const uint *a, __global const uint *b, __global uint *out)
{
    const uint i = get_global_id(0), n = get_global_size(0);
    const uint u = a[i], v = b[i];
    const int x = as_int(u), y = as_int(v);
    ROW(0, popcount(u));
    ROW(1, clz(u));
    ROW(2, popcount(u ^ v) + popcount(u & ~v));
    ROW(3, rotate(u, v));
    ROW(4, reverse_bits(u));
    ROW(5, as_uint(mad24(x << 8 >> 8, y << 8 >> 8, x)));
    ROW(6, mul24(u & 0xffffffu, v & 0xffffffu));
    ROW(7, as_uint(mul_hi(x, y)));
    ROW(8, mul_hi(u, v));
    ROW(9, as_uint(hadd(x, y)));
    ROW(10, rhadd(u, v));
    ROW(11, as_uint(add_sat(x, y)));
    ROW(12, add_sat(u, v));
    ROW(13, as_uint(sub_sat(x, y)));
    ROW(14, sub_sat(u, v));
    ROW(15, abs_diff(x, y));
    ROW(16, abs(x));
    ROW(17, as_uint(mad_hi(x, y, x)));
    ROW(18, mad_sat(u, v & 7u, v));
    ROW(19, bitselect(u, v, 0x00ffff00u));
    ROW(20, upsample((ushort)u, (ushort)v));
    ROW(21, (u >> (v & 31u)) & ((1u << (u & 15u)) - 1u));
    ROW(22, as_uint(select(x, y, u > v)));
    ROW(23, as_uint(mad_sat(x, y, -1)));
}
