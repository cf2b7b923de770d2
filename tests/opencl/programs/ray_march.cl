/* Rays against a set of spheres: float3 arithmetic, early exits, a reflection loop. */
typedef struct {
    float4 sphere; /* centre and squared radius */
    uchar4 colour;
} body;

__kernel void ray_march(__global const body *bodies, int count, __global uchar4 *image,
                        __global float *depth, float3 light)
{
    const int x = get_global_id(0), y = get_global_id(1), w = get_global_size(0);
    float3 origin = (float3)(0.0f, 0.0f, -4.0f);
    float3 direction = normalize((float3)((x - w / 2 + 0.5f) / w, (y - w / 2 + 0.5f) / w, 1.0f));
    float3 colour = (float3)(0.0f);
    float weight = 1.0f, first = -1.0f;
    for (int bounce = 0; bounce < 3; bounce++) {
        float nearest = 1e30f;
        int hit = -1;
        for (int k = 0; k < count; k++) {
            const float3 d = bodies[k].sphere.xyz - origin;
            const float along = dot(d, direction);
            const float gap = dot(d, d) - along * along;
            if (along < 0.0f || gap > bodies[k].sphere.w)
                continue;
            const float t = along - sqrt(bodies[k].sphere.w - gap);
            if (t > 0.01f && t < nearest) {
                nearest = t;
                hit = k;
            }
        }
        if (bounce == 0)
            first = hit < 0 ? -1.0f : nearest;
        if (hit < 0) {
            colour += weight * (float3)(16.0f, 32.0f, 64.0f) * (1.0f - fabs(direction.y));
            break;
        }
        origin += nearest * direction;
        const float3 normal = normalize(origin - bodies[hit].sphere.xyz);
        const float lit = fmax(dot(normal, light), 0.1f);
        colour += weight * 0.7f * lit * convert_float3(bodies[hit].colour.xyz);
        direction -= 2.0f * dot(direction, normal) * normal;
        weight *= 0.3f;
    }
    image[y * w + x] = (uchar4)(convert_uchar3_sat_rte(colour), 255);
    depth[y * w + x] = first;
}
