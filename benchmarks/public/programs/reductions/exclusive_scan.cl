/* Blelloch's exclusive scan of 512 integers in each group of 256: up and down a tree. */
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void exclusive_scan(global const int *in, global int *out) {
    local int tree[512];
    int l = get_local_id(0), at = get_group_id(0) * 512, step = 1;
    tree[2 * l] = in[at + 2 * l];
    tree[2 * l + 1] = in[at + 2 * l + 1];
    for (int d = 256; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) tree[step * (2 * l + 2) - 1] += tree[step * (2 * l + 1) - 1];
        step *= 2;
    }
    if (l == 0) tree[511] = 0;
    for (int d = 1; d < 512; d *= 2) {
        step /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            int a = step * (2 * l + 1) - 1, b = step * (2 * l + 2) - 1, t = tree[a];
            tree[a] = tree[b];
            tree[b] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[at + 2 * l] = tree[2 * l];
    out[at + 2 * l + 1] = tree[2 * l + 1];
}
