/* The discrete cosine transform of blocks of 8 x 8 in local memory: columns, then rows. */
kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void cosines(global const float *in, constant float *basis, global float *out, int n) {
    local float block[8][8], half_done[8][8];
    int x = get_local_id(0), y = get_local_id(1);
    int i = get_global_id(1) * n + get_global_id(0);
    float sum = 0;
    block[y][x] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 8; ++k) sum += basis[y * 8 + k] * block[k][x];
    half_done[y][x] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0;
    for (int k = 0; k < 8; ++k) sum += half_done[y][k] * basis[x * 8 + k];
    out[i] = sum;
}
