/* Counter-based random numbers (Philox 4x32-10), and pi from points in a circle. */
uint4 philox(uint4 c, uint2 key)
{
    for (int r = 0; r < 10; r++) {
        const uint hi0 = mul_hi(0xd2511f53u, c.x), lo0 = 0xd2511f53u * c.x;
        const uint hi1 = mul_hi(0xcd9e8d57u, c.z), lo1 = 0xcd9e8d57u * c.z;
        c = (uint4)(hi1 ^ c.y ^ key.x, lo1, hi0 ^ c.w ^ key.y, lo0);
        key += (uint2)(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

__kernel void draw(__global uint4 *out, uint2 key)
{
    const uint i = get_global_id(0);
    out[i] = philox((uint4)(i, 0, 0xffffffffu - i, 7), key);
}

__kernel void circle(__global uint *inside, uint2 key, uint draws)
{
    const uint i = get_global_id(0);
    uint count = 0;
    for (uint k = 0; k < draws; k++) {
        const uint4 u = philox((uint4)(i, k, 0, 0), key);
        const float4 p = convert_float4(u >> 8) * 0x1.0p-24f;
        count += fma(p.x, p.x, p.y * p.y) < 1.0f;
        count += fma(p.z, p.z, p.w * p.w) < 1.0f;
    }
    inside[i] = count;
}
