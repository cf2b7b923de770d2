/* How many changes lead from one word of 16 letters to another, with one row kept. */
kernel void edit_distances(global const uchar *words, constant uchar *other,
                           global int *distances) {
    int i = get_global_id(0);
    uchar row[17];
    for (int k = 0; k < 17; ++k) row[k] = k;
    for (int y = 0; y < 16; ++y) {
        uchar letter = words[i * 16 + y];
        int corner = row[0];
        row[0] = y + 1;
        for (int x = 0; x < 16; ++x) {
            int changed = corner + (letter != other[x]);
            corner = row[x + 1];
            row[x + 1] = min(min(corner, (int)row[x]) + 1, changed);
        }
    }
    distances[i] = row[16];
}
