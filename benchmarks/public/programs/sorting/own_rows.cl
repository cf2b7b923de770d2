/* Insertion sort of 24 shorts that a work-item keeps to itself. */
kernel void own_rows(global const short *in, global short *out) {
    int at = get_global_id(0) * 24;
    short keys[24];
    for (int k = 0; k < 24; ++k) keys[k] = in[at + k];
    for (int k = 1; k < 24; ++k) {
        short key = keys[k];
        int j = k;
        for (; j > 0 && keys[j - 1] > key; --j) keys[j] = keys[j - 1];
        keys[j] = key;
    }
    for (int k = 0; k < 24; ++k) out[at + k] = keys[k];
}
