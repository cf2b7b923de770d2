/* A sweep of Bellman and Ford over all edges, from distances before to those after it. */
kernel void carry(global const int *now, global int *next) {
    next[get_global_id(0)] = now[get_global_id(0)];
}
kernel void relaxation(global const int *from, global const int *to, global const int *weight,
                       global const int *now, global int *next) {
    int e = get_global_id(0), start = now[from[e]];
    if (start < INT_MAX) {
        int far = start + weight[e];
        if (far < now[to[e]]) atomic_min(&next[to[e]], far);
    }
}
