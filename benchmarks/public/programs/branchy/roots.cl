/* The integer part of a square root, bit by bit. */
kernel void roots(global const uint *in, global uint *out) {
    uint i = get_global_id(0), n = in[i], root = 0, bit = 1u << 30;
    while (bit > n) bit >>= 2;
    while (bit) {
        if (n >= root + bit) {
            n -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
        bit >>= 2;
    }
    out[i] = root;
}
