/* The greatest element of 256 and where it stands first. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void greatest(global const float *in, global float *most, global int *where) {
    local float value[256];
    local int index[256];
    int l = get_local_id(0);
    value[l] = in[get_global_id(0)];
    index[l] = l;
    for (int d = 128; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            float other = value[l + d];
            int at = index[l + d];
            if (other > value[l] || (other == value[l] && at < index[l])) {
                value[l] = other;
                index[l] = at;
            }
        }
    }
    if (l == 0) {
        most[get_group_id(0)] = value[0];
        where[get_group_id(0)] = index[0];
    }
}
