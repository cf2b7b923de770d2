/* For each edge the number of triangles that it closes: sorted lists have ends in common. */
kernel void triangles(global const int *starts, global const int *targets,
                      global const int *from, global const int *to, global int *found) {
    int e = get_global_id(0), u = from[e], v = to[e], count = 0;
    int a = starts[u], b = starts[v], enda = starts[u + 1], endb = starts[v + 1];
    while (a < enda && b < endb) {
        int x = targets[a], y = targets[b];
        count += x == y;
        a += x <= y;
        b += y <= x;
    }
    found[e] = count;
}
