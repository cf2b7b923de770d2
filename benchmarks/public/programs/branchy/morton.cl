/* Coordinates of 16 bits are woven into one number, and its bits are counted. */
uint spread(uint x) {
    x = (x | x << 8) & 0x00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f;
    x = (x | x << 2) & 0x33333333;
    return (x | x << 1) & 0x55555555;
}
kernel void morton(global const ushort2 *in, global uint *codes, global uchar *bits) {
    int i = get_global_id(0);
    uint code = spread(in[i].x) | spread(in[i].y) << 1;
    codes[i] = code;
    bits[i] = popcount(code) + clz(code);
}
