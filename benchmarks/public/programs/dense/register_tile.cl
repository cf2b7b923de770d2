/* A product of matrices: 32 x 32 tiles in local memory, 4 x 4 results in each of 8 x 8 items. */
kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void register_tile(global const float *a, global const float *b, global float *c, int n) {
    local float p[16][32], q[16][32];
    int lx = get_local_id(0), ly = get_local_id(1), l = ly * 8 + lx;
    int x0 = get_group_id(0) * 32, y0 = get_group_id(1) * 32;
    float sum[4][4] = {{0}};
    for (int t = 0; t < n; t += 16) {
        for (int k = l; k < 512; k += 64) {
            p[k % 16][k / 16] = a[(y0 + k / 16) * n + t + k % 16];
            q[k / 32][k % 32] = b[(t + k / 32) * n + x0 + k % 32];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; ++k)
            for (int i = 0; i < 4; ++i)
                for (int j = 0; j < 4; ++j) sum[i][j] += p[k][ly * 4 + i] * q[k][lx * 4 + j];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) c[(y0 + ly * 4 + i) * n + x0 + lx * 4 + j] = sum[i][j];
}
