/* Sums of segments of unequal lengths, one in each work-item. */
kernel void segment_sums(global const int *starts, global const float *in, global float *out) {
    int i = get_global_id(0);
    float sum = 0;
    for (int k = starts[i]; k < starts[i + 1]; ++k) sum += in[k];
    out[i] = sum;
}
