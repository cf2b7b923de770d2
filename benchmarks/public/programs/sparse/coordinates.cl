/* A sparse matrix of integers by coordinates times a vector: an atomic addition each. */
kernel void coordinates(global const int *rows, global const int *columns,
                        global const int *values, global const int *x, global int *y) {
    int i = get_global_id(0);
    atomic_add(&y[rows[i]], values[i] * x[columns[i]]);
}
