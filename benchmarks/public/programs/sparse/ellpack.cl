/* A sparse matrix of 12 elements a row, stored by columns (ELLPACK), times a vector. */
kernel void ellpack(global const int *columns, global const float *values, global const float *x,
                    global float *y, int n) {
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < 12; ++k) sum += values[k * n + row] * x[columns[k * n + row]];
    y[row] = sum;
}
