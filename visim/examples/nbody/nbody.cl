/* One step of n bodies that attract each other. A body is a float4: its place and its mass.
 *
 * Each group reads the bodies in tiles of its own size into local memory.
 */
#define TILE 64
#define SOFTENING 1e-3f

__attribute__((reqd_work_group_size(TILE, 1, 1)))
__kernel void step(__global const float4 *from, __global float4 *to, __global float4 *velocity, float dt, int n)
{
    __local float4 tile[TILE];
    const int i = get_global_id(0);
    const float4 me = from[i];
    float3 pull = 0.0f;
    for (int start = 0; start < n; start += TILE) {
        tile[get_local_id(0)] = from[start + get_local_id(0)];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < TILE; j++) {
            const float3 way = tile[j].xyz - me.xyz;
            const float near = native_rsqrt(dot(way, way) + SOFTENING);
            pull += tile[j].w * near * near * near * way;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float3 speed = velocity[i].xyz + dt * pull;
    velocity[i] = (float4)(speed, 0.0f);
    to[i] = (float4)(me.xyz + dt * speed, me.w);
}
