/* Sparse matrix times vector in CSR form: one work-item a row, and one group a row. */
__kernel void spmv_scalar(__global const int *starts, __global const int *columns,
                          __global const float *values, __global const float *x,
                          __global float *y, int rows)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = starts[row]; k < starts[row + 1]; k++)
        sum = fma(values[k], x[columns[k]], sum);
    y[row] = sum;
}

__kernel void spmv_group(__global const int *starts, __global const int *columns,
                         __global const float *values, __global const float *x, __global float *y,
                         __local float *part)
{
    const int row = get_group_id(0), l = get_local_id(0), n = get_local_size(0);
    float sum = 0.0f;
    for (int k = starts[row] + l; k < starts[row + 1]; k += n)
        sum = fma(values[k], x[columns[k]], sum);
    part[l] = sum;
    for (int half_size = n / 2; half_size > 0; half_size /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < half_size)
            part[l] += part[l + half_size];
    }
    if (l == 0)
        y[row] = part[0];
}
