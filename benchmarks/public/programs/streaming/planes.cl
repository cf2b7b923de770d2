/* Records of three floats become three planes. */
kernel void planes(global const float *in, global float *red, global float *green,
                   global float *blue) {
    size_t i = get_global_id(0);
    red[i] = in[3 * i];
    green[i] = in[3 * i + 1];
    blue[i] = in[3 * i + 2];
}
