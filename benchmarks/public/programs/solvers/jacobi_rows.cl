/* A step of Jacobi's method for a dense system. */
kernel void jacobi_rows(global const float *a, global const float *b, global const float *now,
                        global float *next, int n) {
    int row = get_global_id(0);
    float sum = b[row];
    for (int k = 0; k < n; ++k)
        if (k != row) sum -= a[k * n + row] * now[k];
    next[row] = sum / a[row * n + row];
}
