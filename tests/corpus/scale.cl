__kernel void scale(__global float *values, float factor, int count)
{
    int i = get_global_id(0);
    if (i < count)
        values[i] *= factor;
}
