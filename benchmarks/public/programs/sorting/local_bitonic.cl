/* Batcher's bitonic sort of 512 floats in the local memory of a group of 256. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void local_bitonic(global const float *in, global float *out) {
    local float keys[512];
    int l = get_local_id(0), at = get_group_id(0) * 512;
    keys[l] = in[at + l];
    keys[l + 256] = in[at + l + 256];
    for (int size = 2; size <= 512; size *= 2)
        for (int d = size / 2; d > 0; d /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = 2 * l - (l & (d - 1));
            float a = keys[i], b = keys[i + d];
            if ((a > b) == ((i & size) == 0)) {
                keys[i] = b;
                keys[i + d] = a;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[at + l] = keys[l];
    out[at + l + 256] = keys[l + 256];
}
