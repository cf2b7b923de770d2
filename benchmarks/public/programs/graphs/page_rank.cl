/* A step of PageRank: a vertex collects shares of those that lead to it. */
kernel void page_rank(global const int *starts, global const int *sources,
                      global const int *degrees, global const float *now, global float *next,
                      float damping, int n) {
    int v = get_global_id(0);
    float sum = 0;
    for (int k = starts[v]; k < starts[v + 1]; ++k) {
        int other = sources[k];
        sum += now[other] / degrees[other];
    }
    next[v] = (1 - damping) / n + damping * sum;
}
