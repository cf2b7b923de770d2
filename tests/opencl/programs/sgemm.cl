/* Tiled matrix product: 8 x 8 tiles in local memory, edges guarded. */
#define TILE 8

__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void sgemm(__global const float *a, __global const float *b, __global float *c, int rows, int cols,
           int depth, float alpha, float beta)
{
    __local float as[TILE][TILE], bs[TILE][TILE + 1];
    const int x = get_local_id(0), y = get_local_id(1);
    const int col = get_global_id(0), row = get_global_id(1);
    float sum = 0.0f;
    for (int t = 0; t < depth; t += TILE) {
        as[y][x] = row < rows && t + x < depth ? a[row * depth + t + x] : 0.0f;
        bs[y][x] = col < cols && t + y < depth ? b[(t + y) * cols + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            sum = fma(as[y][k], bs[k][x], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < rows && col < cols)
        c[row * cols + col] = fma(alpha, sum, beta * c[row * cols + col]);
}
