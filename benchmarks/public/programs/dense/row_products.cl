/* A matrix times a vector: a group of 64 for each row, whose parts are added in local memory. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void row_products(global const float *a, global const float *x, global float *y, int n) {
    local float part[64];
    int l = get_local_id(0), row = get_group_id(0);
    float sum = 0;
    for (int k = l; k < n; k += 64) sum += a[row * n + k] * x[k];
    part[l] = sum;
    for (int d = 32; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    if (l == 0) y[row] = part[0];
}
