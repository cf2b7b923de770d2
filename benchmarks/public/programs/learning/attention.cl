/* Attention of one head: 32 numbers a key, softmax over all keys in one pass. */
kernel void attention(global const float *queries, global const float *keys,
                      global const float *values, global float *out, int n) {
    int i = get_global_id(0);
    float q[32], sum[32], most = -INFINITY, weights = 0;
    for (int d = 0; d < 32; ++d) {
        q[d] = queries[i * 32 + d];
        sum[d] = 0;
    }
    for (int k = 0; k < n; ++k) {
        float score = 0;
        for (int d = 0; d < 32; ++d) score += q[d] * keys[k * 32 + d];
        float next = fmax(most, score), kept = exp(most - next), weight = exp(score - next);
        for (int d = 0; d < 32; ++d) sum[d] = sum[d] * kept + weight * values[k * 32 + d];
        weights = weights * kept + weight;
        most = next;
    }
    for (int d = 0; d < 32; ++d) out[i * 32 + d] = sum[d] / weights;
}
