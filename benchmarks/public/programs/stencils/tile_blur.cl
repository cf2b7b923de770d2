/* A blur of 5 x 5 with weights 1 4 6 4 1, from a tile in local memory with its border. */
kernel __attribute__((reqd_work_group_size(16, 16, 1)))
void tile_blur(global const float *in, global float *out, int n) {
    local float tile[20][20], across[20][16];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 16 - 2;
    int y0 = get_group_id(1) * 16 - 2;
    for (int k = ly * 16 + lx; k < 400; k += 256) {
        int x = clamp(x0 + k % 20, 0, n - 1), y = clamp(y0 + k / 20, 0, n - 1);
        tile[k / 20][k % 20] = in[y * n + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int y = ly; y < 20; y += 16) {
        local float *row = tile[y] + lx;
        across[y][lx] = row[0] + 4 * row[1] + 6 * row[2] + 4 * row[3] + row[4];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = across[ly][lx] + 4 * across[ly + 1][lx] + 6 * across[ly + 2][lx];
    sum += 4 * across[ly + 3][lx] + across[ly + 4][lx];
    out[get_global_id(1) * n + get_global_id(0)] = sum / 256;
}
