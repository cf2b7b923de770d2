/* Gravity of all bodies, which groups of 64 load into local memory in turns. */
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void tiled_bodies(global const float4 *bodies, global float4 *pull, int n) {
    local float4 tile[64];
    int l = get_local_id(0);
    float4 me = bodies[get_global_id(0)], sum = (float4)(0);
    for (int t = 0; t < n; t += 64) {
        tile[l] = bodies[t + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 64; ++k) {
            float4 d = tile[k] - me;
            float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 0.01f;
            float w = rsqrt(r2);
            sum += d * (tile[k].w * w * w * w);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    pull[get_global_id(0)] = sum;
}
