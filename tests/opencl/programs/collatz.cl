/* Steps and peak of the Collatz sequence: every work-item leaves the loop at another time. */
__kernel void collatz(__global const uint *start, __global ushort *steps, __global ulong *peak,
                      int limit)
{
    const int i = get_global_id(0);
    ulong x = start[i], top = x;
    int count = 0;
    while (x != 1) {
        if (x & 1) {
            x = 3 * x + 1;
            top = max(top, x);
        } else {
            x >>= 1;
        }
        if (++count == limit)
            break;
    }
    steps[i] = (ushort)count;
    peak[i] = top;
}
