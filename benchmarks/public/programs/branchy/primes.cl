/* Whether a number is prime, by trial divisions. */
kernel void primes(global uchar *out, uint first) {
    uint i = get_global_id(0), n = first + 2 * i + 1;
    uchar is_prime = n > 1;
    for (uint d = 3; d * d <= n; d += 2)
        if (n % d == 0) {
            is_prime = 0;
            break;
        }
    out[i] = is_prime;
}
