/* Texts of 64 bytes go through a table of states; ends are counted. */
kernel void automaton(global const uchar *text, global const uchar *table, global int *ends) {
    int i = get_global_id(0), state = 0, found = 0;
    for (int k = 0; k < 64; ++k) {
        state = table[state * 32 + (text[k * get_global_size(0) + i] & 31)];
        if (state == 15) {
            ++found;
            state = 0;
        }
    }
    ends[i] = found;
}
