/* A sparse matrix (CSR) times a dense one with 16 columns. */
kernel void many_columns(global const int *starts, global const int *columns,
                         global const float *values, global const float *x, global float *y) {
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = starts[row]; k < starts[row + 1]; ++k)
        sum += values[k] * x[columns[k] * 16 + column];
    y[row * 16 + column] = sum;
}
