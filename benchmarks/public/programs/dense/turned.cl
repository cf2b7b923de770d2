/* A matrix of floats is turned over its diagonal without local memory. */
kernel void turned(global const float *in, global float *out, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    out[x * n + y] = in[y * n + x];
}
