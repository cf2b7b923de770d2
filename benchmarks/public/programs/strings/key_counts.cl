/* Keys are counted in an open hash table; a slot is taken by compare and exchange. */
uint slot_of(uint key, uint mask) { return (key * 2654435769u >> 7) & mask; }
kernel void clear(global uint *taken, global uint *counts) {
    taken[get_global_id(0)] = counts[get_global_id(0)] = 0;
}
kernel void count_keys(global const uint *keys, global uint *taken, global uint *counts,
                       uint mask) {
    uint key = keys[get_global_id(0)], slot = slot_of(key, mask);
    while (1) {
        uint found = atomic_cmpxchg(&taken[slot], 0, key);
        if (found == 0 || found == key) break;
        slot = (slot + 1) & mask;
    }
    atomic_inc(&counts[slot]);
}
kernel void look_up(global const uint *keys, global const uint *taken, global const uint *counts,
                    global uint *out, uint mask) {
    uint key = keys[get_global_id(0)], slot = slot_of(key, mask);
    while (taken[slot] != key) slot = (slot + 1) & mask;
    out[get_global_id(0)] = counts[slot];
}
