/* Breadth-first search: vertices of the last level give their neighbours the next one. */
kernel void start(global int *level) {
    int v = get_global_id(0);
    level[v] = v == 0 ? 0 : -1;
}
kernel void levels(global const int *starts, global const int *targets, global int *level,
                   int now) {
    int v = get_global_id(0);
    if (level[v] != now) return;
    for (int k = starts[v]; k < starts[v + 1]; ++k) {
        int other = targets[k];
        if (level[other] < 0) level[other] = now + 1;
    }
}
