/* MurmurHash3 (32 bits) of rows of 16 words. */
kernel void murmur(global const uint *words, global uint *hashes, uint seed) {
    int i = get_global_id(0);
    uint h = seed;
    for (int k = 0; k < 16; ++k) {
        uint word = words[i * 16 + k] * 0xcc9e2d51u;
        h ^= rotate(word, 15u) * 0x1b873593u;
        h = rotate(h, 13u) * 5 + 0xe6546b64u;
    }
    h ^= 64;
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    hashes[i] = h ^ (h >> 16);
}
