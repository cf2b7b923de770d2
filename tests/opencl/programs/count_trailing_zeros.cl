/* ctz is new in OpenCL C 2.0. */
__kernel void trailing(__global const uint *a, __global const ulong *b, __global uint *out,
                       __global ulong *wide, __global uchar *narrow)
{
    const int i = get_global_id(0);
    out[i] = ctz(a[i]);
    wide[i] = ctz(b[i]) + 100 * clz(b[i]);
    narrow[i] = ctz((uchar)a[i]) * 16 + clz((uchar)a[i]);
}
