/* Gravity among all bodies: positions go through local memory in blocks. */
__kernel void nbody(__global const float4 *position, __global const float4 *velocity,
                    __global float4 *new_position, __global float4 *new_velocity,
                    __local float4 *block, int count, float dt, float softening)
{
    const int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
    const float4 p = position[i];
    float3 acceleration = (float3)(0.0f);
    for (int start = 0; start < count; start += n) {
        block[l] = position[start + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < n; k++) {
            const float3 d = block[k].xyz - p.xyz;
            const float r2 = dot(d, d) + softening;
            const float inverse = rsqrt(r2);
            acceleration += d * (block[k].w * inverse * inverse * inverse);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const float3 v = velocity[i].xyz + acceleration * dt;
    new_velocity[i] = (float4)(v, velocity[i].w);
    new_position[i] = (float4)(p.xyz + v * dt, p.w);
}
