/* y = A * x for a sparse matrix in CSR form: one work-item a row.
 *
 * starts[row] is where the row's elements begin in columns and values, starts[rows] their number.
 */
__kernel void spmv(__global const int *starts, __global const int *columns, __global const float *values,
                   __global const float *x, __global float *y, int rows)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; i++)
        sum += values[i] * x[columns[i]];
    y[row] = sum;
}
