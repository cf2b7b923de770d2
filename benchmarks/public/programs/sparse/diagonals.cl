/* A matrix of seven diagonals times a vector. */
kernel void diagonals(global const float *values, constant int *offsets, global const float *x,
                      global float *y, int n) {
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < 7; ++k) {
        int column = row + offsets[k];
        if (column >= 0 && column < n) sum += values[k * n + row] * x[column];
    }
    y[row] = sum;
}
