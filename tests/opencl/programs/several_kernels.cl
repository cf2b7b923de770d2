/* A pipeline: four kernels of one program that share functions, constants and buffers. */
__constant float taps[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};

float decode(ushort v)
{
    return (float)v * (1.0f / 1024.0f);
}

ushort encode(float v)
{
    return convert_ushort_sat_rte(v * 1024.0f);
}

__kernel void fill(__global ushort *a, uint seed)
{
    const uint i = get_global_id(0);
    uint x = (i + 1) * 2654435761u ^ seed;
    x ^= x >> 15;
    a[i] = (ushort)(x >> 8);
}

__kernel void blur(__global const ushort *a, __global ushort *b)
{
    const int i = get_global_id(0), n = get_global_size(0);
    float sum = 0.0f;
    for (int k = -2; k <= 2; k++)
        sum = fma(decode(a[clamp(i + k, 0, n - 1)]), taps[k + 2], sum);
    b[i] = encode(sum);
}

__kernel void difference(__global ushort *a, __global const ushort *b)
{
    const int i = get_global_id(0);
    a[i] = abs_diff(a[i], b[i]);
}

__kernel void peak(__global const ushort *a, __global uint *out)
{
    atomic_max(&out[0], (uint)a[get_global_id(0)]);
    atomic_add(&out[1], (uint)a[get_global_id(0)]);
}
