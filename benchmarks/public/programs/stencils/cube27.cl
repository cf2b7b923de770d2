/* All 27 elements of a cube, weighed by how far they are. */
kernel void cube27(global const float *in, global float *out, constant float *weights, int n) {
    int x = get_global_id(0) + 1, y = get_global_id(1) + 1, z = get_global_id(2) + 1, m = n + 2;
    float sum = 0;
    for (int dz = -1; dz <= 1; ++dz)
        for (int dy = -1; dy <= 1; ++dy)
            for (int dx = -1; dx <= 1; ++dx) {
                float value = in[((z + dz) * m + y + dy) * m + x + dx];
                sum += weights[abs(dx) + abs(dy) + abs(dz)] * value;
            }
    out[(z * m + y) * m + x] = sum;
}
