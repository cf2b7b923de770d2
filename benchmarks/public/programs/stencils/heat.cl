/* One step of a diffusion along a line, whose ends stay as they are. */
kernel void heat(global const float *in, global float *out, float rate, int n) {
    int i = get_global_id(0);
    float here = in[i];
    if (i > 0 && i < n - 1) here += rate * (in[i - 1] - 2 * here + in[i + 1]);
    out[i] = here;
}
