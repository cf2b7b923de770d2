/* CRC-32 of records of 64 bytes, by a table of 256. */
kernel void checksums(global const uchar *data, constant uint *table, global uint *sums) {
    int i = get_global_id(0);
    uint crc = 0xffffffff;
    for (int k = 0; k < 64; ++k) crc = (crc >> 8) ^ table[(crc ^ data[i * 64 + k]) & 255];
    sums[i] = ~crc;
}
