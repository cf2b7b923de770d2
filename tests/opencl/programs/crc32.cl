/* CRC-32 of byte strings: bit by bit, and with a table that the group builds in local memory. */
uint crc_byte(uint c)
{
    for (int k = 0; k < 8; k++)
        c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    return c;
}

__kernel void crc32_bits(__global const uchar *data, __global const int *ends, __global uint *out)
{
    const int i = get_global_id(0);
    uint crc = ~0u;
    for (int k = i == 0 ? 0 : ends[i - 1]; k < ends[i]; k++)
        crc = crc_byte((crc ^ data[k]) & 0xff) ^ (crc >> 8);
    out[i] = ~crc;
}

__kernel void crc32_table(__global const uchar *data, __global const int *ends, __global uint *out)
{
    __local uint table[256];
    const int i = get_global_id(0);
    for (uint k = get_local_id(0); k < 256; k += get_local_size(0))
        table[k] = crc_byte(k);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint crc = ~0u;
    for (int k = i == 0 ? 0 : ends[i - 1]; k < ends[i]; k++)
        crc = table[(crc ^ data[k]) & 0xff] ^ (crc >> 8);
    out[i] = ~crc;
}
