/* Products of rows of two dense matrices, where a sparse matrix has elements. */
kernel void sampled(global const int *rows, global const int *columns, global const float *a,
                    global const float *b, global float *out) {
    int i = get_global_id(0);
    global const float *u = a + rows[i] * 32, *v = b + columns[i] * 32;
    float sum = 0;
    for (int k = 0; k < 32; ++k) sum += u[k] * v[k];
    out[i] = sum;
}
