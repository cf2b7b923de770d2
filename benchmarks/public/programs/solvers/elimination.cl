/* A step of Gauss' elimination: a multiple of row k leaves the rows below it. */
kernel void start(global const float *in, global float *a) {
    a[get_global_id(0)] = in[get_global_id(0)];
}
kernel void elimination(global float *a, int n, int k) {
    int x = get_global_id(0), y = get_global_id(1);
    if (y > k && x > k) a[y * n + x] -= a[y * n + k] / a[k * n + k] * a[k * n + x];
}
