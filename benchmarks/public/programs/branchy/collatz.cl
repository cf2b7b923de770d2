/* How many steps lead to 1. */
kernel void collatz(global const uint *starts, global uint *steps) {
    uint i = get_global_id(0), count = 0;
    ulong n = starts[i];
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        ++count;
    }
    steps[i] = count;
}
