/* Bitonic sort of keys with values in local memory. */
__kernel void bitonic_sort(__global uint *keys, __global ushort *values, int descending)
{
    __local uint k[128];
    __local ushort v[128];
    const uint l = get_local_id(0), n = get_local_size(0), base = get_group_id(0) * n;
    k[l] = keys[base + l];
    v[l] = values[base + l];
    for (uint size = 2; size <= n; size <<= 1) {
        for (uint stride = size >> 1; stride > 0; stride >>= 1) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint partner = l ^ stride;
            if (partner > l) {
                const bool up = ((l & size) == 0) != descending;
                const uint x = k[l], y = k[partner];
                if ((x > y) == up) {
                    k[l] = y;
                    k[partner] = x;
                    const ushort t = v[l];
                    v[l] = v[partner];
                    v[partner] = t;
                }
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    keys[base + l] = k[l];
    values[base + l] = v[l];
}
