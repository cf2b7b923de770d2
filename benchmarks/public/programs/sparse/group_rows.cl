/* A sparse matrix (CSR) times a vector, a group of 32 for each row. */
kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void group_rows(global const int *starts, global const int *columns, global const float *values,
                global const float *x, global float *y) {
    local float part[32];
    int l = get_local_id(0), row = get_group_id(0);
    float sum = 0;
    for (int k = starts[row] + l; k < starts[row + 1]; k += 32) sum += values[k] * x[columns[k]];
    part[l] = sum;
    for (int d = 16; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    if (l == 0) y[row] = part[0];
}
