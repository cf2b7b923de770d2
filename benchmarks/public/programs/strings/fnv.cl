/* FNV-1a of strings of unequal lengths. */
kernel void fnv(global const uchar *text, global const int *starts, global uint *hashes) {
    int i = get_global_id(0);
    uint h = 2166136261u;
    for (int k = starts[i]; k < starts[i + 1]; ++k) h = (h ^ text[k]) * 16777619u;
    hashes[i] = h;
}
