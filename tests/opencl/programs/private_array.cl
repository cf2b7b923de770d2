/* Arrays of one work-item, indexed by data: insertion sort, a ring buffer, a small table. */
__kernel void insertion_sort(__global const int *a, __global int *out, int n)
{
    const int i = get_global_id(0);
    int t[24];
    for (int k = 0; k < n; k++) {
        const int x = a[i * n + k];
        int j = k;
        while (j > 0 && t[j - 1] > x) {
            t[j] = t[j - 1];
            j--;
        }
        t[j] = x;
    }
    for (int k = 0; k < n; k++)
        out[i * n + k] = t[k];
}

__kernel void ring(__global const ushort *commands, __global uint *out, int n)
{
    const int i = get_global_id(0);
    uchar ring[16];
    for (int k = 0; k < 16; k++)
        ring[k] = (uchar)(k * 3);
    uint head = 0, hash = 2166136261u;
    for (int k = 0; k < n; k++) {
        const ushort c = commands[i * n + k];
        ring[(head + (c >> 8)) & 15] += (uchar)c;
        head = (head + (c & 7)) & 15;
        hash = (hash ^ ring[head]) * 16777619u;
    }
    out[i] = hash;
}

__kernel void lookup(__global const int *index, __global float *out)
{
    const int i = get_global_id(0);
    float2 t[4] = {(float2)(1, 2), (float2)(3, 4), (float2)(5, 6), (float2)(7, 8)};
    t[index[i] & 3].y = (float)i;
    t[(index[i] >> 2) & 3] += (float2)(0.5f, 0.25f);
    const float2 v = t[(index[i] >> 4) & 3];
    out[2 * i] = v.x;
    out[2 * i + 1] = v.y;
}

/* Too large for registers: counting sort, then a walk along the permutation. */
__kernel void counting(__global const uchar *a, __global uint *out, int n)
{
    const int i = get_global_id(0);
    int counts[96];
    short next[96];
    for (int k = 0; k < 96; k++)
        counts[k] = 0;
    for (int k = 0; k < n; k++)
        counts[a[i * n + k] % 96]++;
    for (int k = 1; k < 96; k++)
        counts[k] += counts[k - 1];
    for (int k = n - 1; k >= 0; k--)
        next[--counts[a[i * n + k] % 96]] = (short)k;
    uint hash = 17;
    for (int k = 0, at = 0; k < n; k++) {
        hash = hash * 31 + (uint)at;
        at = next[at];
    }
    out[i] = hash;
}
