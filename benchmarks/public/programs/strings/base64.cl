/* Three bytes become four letters. */
uchar letter(uint v) {
    return v < 26 ? 'A' + v : v < 52 ? 'a' + v - 26 : v < 62 ? '0' + v - 52 : v == 62 ? '+' : '/';
}
kernel void base64(global const uchar *in, global uchar4 *out) {
    int i = get_global_id(0);
    uint v = in[3 * i] << 16 | in[3 * i + 1] << 8 | in[3 * i + 2];
    out[i] = (uchar4)(letter(v >> 18), letter((v >> 12) & 63), letter((v >> 6) & 63),
                      letter(v & 63));
}
