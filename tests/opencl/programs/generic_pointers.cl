/* Pointers whose address space is known at run time only. */
int sum_of(const int *p, int n)
{
    int s = 0;
    for (int k = 0; k < n; k++)
        s += p[k];
    return s;
}

__kernel void generic_pointers(__global int *data, __global int *out, __local int *scratch)
{
    const int i = get_global_id(0), l = get_local_id(0), n = get_local_size(0);
    int own[4] = {i, 2 * i, 3 * i, i ^ 5};
    scratch[l] = data[i] * 2;
    barrier(CLK_LOCAL_MEM_FENCE);
    int *p;
    int count = 4;
    switch (data[i] % 3) {
    case 0:
        p = (int *)own;
        break;
    case 1:
        p = (int *)scratch;
        count = n;
        break;
    default:
        p = (int *)(data + i / 4 * 4);
        break;
    }
    int r = sum_of(p, count);
    r += to_local(p) != 0 ? 1000000 : 2000000;
    out[i] = r;
}
