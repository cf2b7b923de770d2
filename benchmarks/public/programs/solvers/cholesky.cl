/* Many matrices of 6 x 6 become products of a triangular one and its transpose. */
kernel void cholesky(global const float *in, global float *out, int n) {
    int i = get_global_id(0);
    float a[6][6];
    for (int y = 0; y < 6; ++y)
        for (int x = 0; x <= y; ++x) {
            float sum = in[(y * 6 + x) * n + i];
            for (int k = 0; k < x; ++k) sum -= a[y][k] * a[x][k];
            a[y][x] = x == y ? sqrt(sum) : sum / a[x][x];
            out[(y * 6 + x) * n + i] = a[y][x];
        }
}
