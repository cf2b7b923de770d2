/* Walsh and Hadamard's transform of 256 integers in local memory. */
kernel __attribute__((reqd_work_group_size(128, 1, 1)))
void hadamard(global const int *in, global int *out) {
    local int part[256];
    int l = get_local_id(0), at = get_group_id(0) * 256;
    part[l] = in[at + l];
    part[l + 128] = in[at + l + 128];
    for (int d = 1; d < 256; d *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        int i = 2 * l - (l & (d - 1)), a = part[i], b = part[i + d];
        part[i] = a + b;
        part[i + d] = a - b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[at + l] = part[l];
    out[at + l + 128] = part[l + 128];
}
