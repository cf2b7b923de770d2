/* Radix-2 FFT of 64 points a group, all passes in local memory. */
__kernel void fft64(__global const float2 *in, __global float2 *out, __local float2 *t, float sign)
{
    const uint l = get_local_id(0), base = get_group_id(0) * 64;
    for (uint k = l; k < 64; k += 32) {
        uint r = ((k & 0x15) << 1) | ((k & 0x2a) >> 1);
        r = ((r & 3) << 4) | (r & 0xc) | (r >> 4);
        t[r] = in[base + k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = 1; half_size < 64; half_size <<= 1) {
        const uint j = l & (half_size - 1);
        const uint low = ((l - j) << 1) + j;
        const float angle = sign * (float)j / (float)half_size;
        const float2 w = (float2)(cospi(angle), sinpi(angle));
        const float2 x = t[low], y = t[low + half_size];
        const float2 z = (float2)(y.x * w.x - y.y * w.y, y.x * w.y + y.y * w.x);
        t[low] = x + z;
        t[low + half_size] = x - z;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[base + l] = t[l];
    out[base + l + 32] = t[l + 32];
}
