/* Each key goes where the number of lesser ones says; equal ones keep their order. */
kernel void ranks(global const int *in, global int *out, int n) {
    int i = get_global_id(0), key = in[i], rank = 0;
    for (int k = 0; k < n; ++k) {
        int other = in[k];
        rank += other < key || (other == key && k < i);
    }
    out[rank] = key;
}
