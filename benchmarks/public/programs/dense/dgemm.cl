/* Matrices of doubles, one element of the result in each work-item. */
kernel void dgemm(global const double *a, global const double *b, global double *c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    double sum = 0;
    for (int k = 0; k < n; ++k) sum = fma(a[y * n + k], b[k * n + x], sum);
    c[y * n + x] = sum;
}
