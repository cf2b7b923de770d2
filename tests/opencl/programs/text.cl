/* Bytes as text: base64 with padding, and lengths of UTF-8 code points. */
__constant char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

__kernel void base64(__global const uchar *in, __global char *out, int length)
{
    const int i = get_global_id(0);
    const int left = length - 3 * i;
    if (left <= 0)
        return;
    uint bits = in[3 * i] << 16;
    if (left > 1)
        bits |= in[3 * i + 1] << 8;
    if (left > 2)
        bits |= in[3 * i + 2];
    out[4 * i] = alphabet[bits >> 18];
    out[4 * i + 1] = alphabet[bits >> 12 & 63];
    out[4 * i + 2] = left > 1 ? alphabet[bits >> 6 & 63] : '=';
    out[4 * i + 3] = left > 2 ? alphabet[bits & 63] : '=';
}

/* Decodes the code point that starts at each byte; -1 inside one, -2 where it is malformed. */
__kernel void utf8(__global const uchar *in, __global int *points, int length)
{
    const int i = get_global_id(0);
    const uchar first = in[i];
    int extra, value;
    if (first < 0x80) {
        extra = 0, value = first;
    } else if (first < 0xc0) {
        points[i] = -1;
        return;
    } else if (first < 0xe0) {
        extra = 1, value = first & 0x1f;
    } else if (first < 0xf0) {
        extra = 2, value = first & 0x0f;
    } else {
        extra = 3, value = first & 0x07;
    }
    for (int k = 1; k <= extra; k++) {
        if (i + k >= length || (in[i + k] & 0xc0) != 0x80) {
            value = -2;
            break;
        }
        value = value << 6 | (in[i + k] & 0x3f);
    }
    points[i] = value;
}
