/* A dot product: few groups go through the arrays in strides of all work-items. */
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void strided_dot(global const float *x, global const float *y, global float *out, int n) {
    local float part[128];
    int l = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i] * y[i];
    part[l] = sum;
    for (int d = 64; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[l] += part[l + d];
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}
