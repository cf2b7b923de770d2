/* The lower half of a matrix times its transpose; the upper half is not touched. */
kernel void gram(global const float *a, global float *c, int n, int m) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x > y) return;
    float sum = 0;
    for (int k = 0; k < m; ++k) sum += a[y * m + k] * a[x * m + k];
    c[y * n + x] = sum;
}
