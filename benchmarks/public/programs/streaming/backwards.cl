/* An array is written from its end. */
kernel void backwards(global const uint *in, global uint *out, uint n) {
    uint i = get_global_id(0);
    out[n - 1 - i] = in[i];
}
