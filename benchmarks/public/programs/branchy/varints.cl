/* Records of numbers of one to five bytes (LEB128) are decoded and added. */
kernel void varints(global const uchar *bytes, global const int *starts, global uint *sums) {
    int i = get_global_id(0), at = starts[i], end = starts[i + 1];
    uint sum = 0;
    while (at < end) {
        uint value = 0, shift = 0;
        uchar byte;
        do {
            byte = bytes[at++];
            value |= (byte & 127u) << shift;
            shift += 7;
        } while (byte & 128);
        sum = sum * 31 + value;
    }
    sums[i] = sum;
}
