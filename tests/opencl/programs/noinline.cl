/* Functions that stay functions: scalars, vectors, structs by value and pointers as arguments. */
typedef struct {
    float x, y;
    int tag;
} point;

__attribute__((noinline)) int mix_bits(int x, int rounds)
{
    for (int k = 0; k < rounds; k++) {
        x ^= x << 13;
        x ^= (int)((uint)x >> 17);
        x ^= x << 5;
    }
    return x;
}

__attribute__((noinline)) point move(point p, float dx, float dy)
{
    p.x += dx;
    p.y -= dy;
    p.tag = mix_bits(p.tag, 2);
    return p;
}

__attribute__((noinline)) void swap_if(__global int *a, int i, int j)
{
    const int x = a[i], y = a[j];
    if (x > y) {
        a[i] = y;
        a[j] = x;
    }
}

__attribute__((noinline)) float4 turn(float4 v, int quarter)
{
    if (quarter & 1)
        v = v.yzwx;
    return quarter & 2 ? -v.zwxy : v;
}

__kernel void noinline(__global const int *seed, __global float4 *out, __global int *tags,
                       __global int *pairs)
{
    const int i = get_global_id(0);
    point p = {(float)i, (float)(i * 2), seed[i]};
    p = move(p, 0.5f, seed[i] & 1 ? 1.5f : -2.0f);
    p = move(p, (float)(seed[i] & 3), -1.0f);
    int tag = p.tag;
    for (int k = 0; k < (seed[i] & 3); k++)
        if ((tag & 7) != 5)
            tag = mix_bits(tag, k + 1);
    out[i] = turn((float4)(p.x, p.y, 3.0f, -4.0f), seed[i] >> 2);
    tags[i] = tag;
    swap_if(pairs, 2 * i, 2 * i + 1);
}
