/* A stage of a transform modulo 998244353, whose factors are in an array. */
#define PRIME 998244353u
kernel void number_theoretic(global const uint *in, global const uint *factors,
                             global uint *out, int half_n, int span) {
    int i = get_global_id(0), k = i & (span - 1), j = ((i - k) << 1) + k;
    uint a = in[i], b = (ulong)in[i + half_n] * factors[k * (half_n / span)] % PRIME;
    uint sum = a + b;
    out[j] = sum >= PRIME ? sum - PRIME : sum;
    out[j + span] = a >= b ? a - b : a + PRIME - b;
}
