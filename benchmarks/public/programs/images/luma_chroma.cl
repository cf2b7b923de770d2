/* Pixels of four bytes become a plane of brightness and two of colour (BT.601). */
kernel void luma_chroma(global const uchar4 *in, global uchar *y, global uchar *u,
                        global uchar *v) {
    int i = get_global_id(0);
    int4 p = convert_int4(in[i]);
    y[i] = ((66 * p.x + 129 * p.y + 25 * p.z + 128) >> 8) + 16;
    u[i] = ((-38 * p.x - 74 * p.y + 112 * p.z + 128) >> 8) + 128;
    v[i] = ((112 * p.x - 94 * p.y - 18 * p.z + 128) >> 8) + 128;
}
