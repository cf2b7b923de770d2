/* Connected components: the least label of a vertex and its neighbours. */
kernel void labels(global const int *starts, global const int *targets, global const int *now,
                   global int *next) {
    int v = get_global_id(0), least = now[v];
    for (int k = starts[v]; k < starts[v + 1]; ++k) least = min(least, now[targets[k]]);
    next[v] = least;
}
