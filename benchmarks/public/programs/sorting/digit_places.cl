/* The last kernel of a radix sort: a work-item puts its 64 keys where the counts say. */
kernel void digit_places(global const uint *keys, global const uint *places, global uint *out,
                         int shift) {
    uint i = get_global_id(0), items = get_global_size(0), next[16];
    for (int d = 0; d < 16; ++d) next[d] = places[d * items + i];
    for (int k = 0; k < 64; ++k) {
        uint key = keys[i * 64 + k];
        out[next[(key >> shift) & 15]++] = key;
    }
}
