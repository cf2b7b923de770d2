/* The Gaussian error linear unit, by its formula with tanh. */
kernel void gelu(global const float *in, global float *out) {
    int i = get_global_id(0);
    float x = in[i];
    out[i] = 0.5f * x * (1 + tanh(0.7978845608f * (x + 0.044715f * x * x * x)));
}
