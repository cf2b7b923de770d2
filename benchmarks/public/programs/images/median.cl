/* The median of 3 x 3 bytes by exchanges of pairs. */
#define ORDER(a, b) { uchar t = min(a, b); b = max(a, b); a = t; }
kernel void median(global const uchar *in, global uchar *out, int n) {
    int x = get_global_id(0), y = get_global_id(1), m = n + 2;
    uchar p[9];
    for (int k = 0; k < 9; ++k) p[k] = in[(y + k / 3) * m + x + k % 3];
    ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[1]) ORDER(p[3], p[4])
    ORDER(p[6], p[7]) ORDER(p[1], p[2]) ORDER(p[4], p[5]) ORDER(p[7], p[8]) ORDER(p[0], p[3])
    ORDER(p[5], p[8]) ORDER(p[4], p[7]) ORDER(p[3], p[6]) ORDER(p[1], p[4]) ORDER(p[2], p[5])
    ORDER(p[4], p[7]) ORDER(p[4], p[2]) ORDER(p[6], p[4]) ORDER(p[4], p[2])
    out[y * n + x] = p[4];
}
