/* Conway's game of life on a torus, one byte a cell, and bit-parallel, 32 cells a word. */
__kernel void life_bytes(__global const uchar *now, __global uchar *next)
{
    const int x = get_global_id(0), y = get_global_id(1);
    const int w = get_global_size(0), h = get_global_size(1);
    int around = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            if (dx != 0 || dy != 0)
                around += now[(y + dy + h) % h * w + (x + dx + w) % w];
    next[y * w + x] = around == 3 || (around == 2 && now[y * w + x]);
}

__kernel void life_bits(__global const uint *now, __global uint *next, int height)
{
    const int y = get_global_id(0);
    uint ones = 0, twos = 0, fours = 0;
    const uint here = now[y];
    for (int k = -1; k <= 1; k++) {
        const uint row = now[(y + k + height) % height];
        const uint cells[3] = {rotate(row, 1u), k == 0 ? 0 : row, rotate(row, 31u)};
        for (int j = 0; j < 3; j++) {
            const uint carry = ones & cells[j];
            ones ^= cells[j];
            fours |= twos & carry;
            twos ^= carry;
        }
    }
    next[y] = twos & ~fours & (ones | here);
}
