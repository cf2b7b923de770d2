/* The product of a column and a row is added to a matrix. */
kernel void rank_one(global float *a, global const float *x, global const float *y, int n) {
    int column = get_global_id(0), row = get_global_id(1);
    a[row * n + column] += x[row] * y[column];
}
