/* What a step of conjugate gradients does with its vectors, with parts of a dot product. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void conjugate(global float *x, global float *r, global const float *p, global const float *ap,
               global float *parts, float alpha) {
    local float part[256];
    int i = get_global_id(0), l = get_local_id(0);
    x[i] += alpha * p[i];
    float rest = r[i] - alpha * ap[i];
    r[i] = rest;
    part[l] = rest * rest;
    for (int d = 128; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    if (l == 0) parts[get_group_id(0)] = part[0];
}
