/* Where a pattern of eight bytes stands in a text. */
kernel void occurrences(global const uchar *text, constant uchar *pattern, global uchar *found) {
    int i = get_global_id(0), k = 0;
    while (k < 8 && text[i + k] == pattern[k]) ++k;
    found[i] = k == 8;
}
