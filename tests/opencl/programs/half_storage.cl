/* half only in memory: loads widen to float, stores narrow with each rounding mode. */
__kernel void half_storage(__global const half *a, __global const float *b, __global half *out,
                           __global float *wide)
{
    const int i = get_global_id(0), n = get_global_size(0);
    const float x = vload_half(i, a);
    wide[i] = x * b[i];
    vstore_half(b[i], i, out);
    vstore_half_rte(b[i], i + n, out);
    vstore_half_rtz(b[i], i + 2 * n, out);
    vstore_half_rtp(b[i], i + 3 * n, out);
    vstore_half_rtn(b[i], i + 4 * n, out);
    if (i < n / 4) {
        const float4 v = vload_half4(i, a);
        vstore_half4(v.wzyx, i, out + 5 * n);
    }
}
