/* A barrier in a kernel without local memory: what work-items exchange is in global memory. */
__kernel void neighbours(__global int *a, __global int *out)
{
    const int l = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n;
    a[first + l] *= 3;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    out[first + l] = a[first + (l + 1) % n];
}

typedef struct {
    float x, y, z;
} Triple;

/* Three floats that all work-items share are the whole buffer: compilers load four. */
__kernel void plane(__constant Triple *by, __global const float *a, __global float *out)
{
    const int i = get_global_id(0);
    out[i] = by->x * a[i] + by->y * a[i] * a[i] + by->z;
}
