/* Euclid's algorithm with remainders. */
kernel void common_divisors(global const uint *a, global const uint *b, global uint *out) {
    uint i = get_global_id(0), x = a[i], y = b[i];
    while (y) {
        uint rest = x % y;
        x = y;
        y = rest;
    }
    out[i] = x;
}
