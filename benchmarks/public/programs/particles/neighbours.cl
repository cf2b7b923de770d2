/* Lennard-Jones forces of 24 neighbours from a list, behind a cutoff. */
kernel void neighbours(global const float4 *place, global const int *near, global float4 *force,
                       float cutoff, int n) {
    int i = get_global_id(0);
    float4 me = place[i], sum = (float4)(0);
    for (int k = 0; k < 24; ++k) {
        float4 d = me - place[near[k * n + i]];
        float r2 = d.x * d.x + d.y * d.y + d.z * d.z;
        if (r2 < cutoff) {
            float w = 1 / (r2 + 0.01f), w3 = w * w * w;
            sum += d * (w3 * (w3 - 0.5f) * w);
        }
    }
    sum.w = 0;
    force[i] = sum;
}
