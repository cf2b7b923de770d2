/* The lengths of rows of a matrix that is stored in half precision. */
kernel void half_norms(global const half *a, global float *norms, int n) {
    int row = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; k += 4) {
        float4 four = vload_half4(0, a + row * n + k);
        sum += dot(four, four);
    }
    norms[row] = sqrt(sum);
}
