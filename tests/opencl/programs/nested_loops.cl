/* Loops in loops, left by break and continued at different trips in different work-items. */
__kernel void nested_loops(__global const int *a, __global int *out, __global int *trips)
{
    const int i = get_global_id(0);
    const int outer = a[i] & 15, inner = (a[i] >> 4) & 15;
    int sum = 0, count = 0;
    for (int j = 0; j < outer; j++) {
        if ((j ^ i) % 5 == 3)
            continue;
        for (int k = j; k < inner + j; k++) {
            count++;
            if (((sum + k) & 7) == 5)
                continue;
            sum += k * j + i;
            if (sum > 300)
                break;
        }
        int m = sum;
        do {
            m -= 7;
            count++;
            if (m == 1)
                goto found;
        } while (m > 0);
        if (sum > 500 && (i & 1))
            break;
    }
    sum = -sum;
found:
    out[i] = sum;
    trips[i] = count;
}
