/* Places and speeds of particles a step later, in a box whose walls throw them back. */
kernel void leapfrog(global float4 *place, global float4 *speed, global const float4 *force,
                     float step) {
    int i = get_global_id(0);
    float4 p = place[i], v = speed[i] + step * force[i];
    p += step * v;
    int4 outside = (p < 0.0f) | (p > 1.0f);
    v = select(v, -v, outside);
    place[i] = clamp(p, 0.0f, 1.0f);
    speed[i] = v;
}
