/* Blocks of the ChaCha20 key stream. */
#define QUARTER(a, b, c, d) \
    a += b; d = rotate(d ^ a, 16u); c += d; b = rotate(b ^ c, 12u); \
    a += b; d = rotate(d ^ a, 8u); c += d; b = rotate(b ^ c, 7u);
kernel void chacha(constant uint *state, global uint *out) {
    uint i = get_global_id(0), x[16];
    for (int k = 0; k < 16; ++k) x[k] = state[k];
    x[12] += i;
    for (int k = 0; k < 10; ++k) {
        QUARTER(x[0], x[4], x[8], x[12])
        QUARTER(x[1], x[5], x[9], x[13])
        QUARTER(x[2], x[6], x[10], x[14])
        QUARTER(x[3], x[7], x[11], x[15])
        QUARTER(x[0], x[5], x[10], x[15])
        QUARTER(x[1], x[6], x[11], x[12])
        QUARTER(x[2], x[7], x[8], x[13])
        QUARTER(x[3], x[4], x[9], x[14])
    }
    for (int k = 0; k < 16; ++k) out[i * 16 + k] = x[k] + state[k] + (k == 12 ? i : 0);
}
