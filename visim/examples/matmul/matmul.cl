/* c = a * b: half precision in, single precision out, by the GPU's matrix instruction (dpas).
 *
 * One sub-group of 16 work-items makes a tile of 8 rows and 16 columns. a is m x k, b is k x n, c is
 * m x n, row by row. Global size: n x m / 8; k is a multiple of 16.
 */
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_intel_subgroups_short : enable
float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(short8 a, int8 b, float8 c);

__attribute__((intel_reqd_sub_group_size(16)))
__attribute__((reqd_work_group_size(16, 1, 1)))
__kernel void matmul(__global const half *a, __global const half *b, __global float *c, int n, int k)
{
    const int column = get_group_id(0) * 16 + get_sub_group_local_id();
    const int row = get_global_id(1) * 8, lane = get_sub_group_local_id();
    float8 sum = 0.0f;
    for (int at = 0; at < k; at += 16) {
        short8 rows;
        int8 columns;
        __attribute__((opencl_unroll_hint(8)))
        for (int i = 0; i < 8; i++) {
            /* Each lane has one column of a, and pairs of rows of its own column of b. */
            ((short *)&rows)[i] = as_short(a[(row + i) * k + at + lane]);
            const ushort low = as_ushort(b[(at + 2 * i) * n + column]);
            const ushort high = as_ushort(b[(at + 2 * i + 1) * n + column]);
            ((int *)&columns)[i] = as_int((uint)low | (uint)high << 16);
        }
        sum = intel_sub_group_f16_f16_matrix_mad_k16(rows, columns, sum);
    }
    for (int i = 0; i < 8; i++)
        c[(row + i) * n + column] = sum[i];
}
