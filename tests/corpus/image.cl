__constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;

__kernel void blend(read_only image2d_t from, write_only image2d_t to, sampler_t how)
{
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    float2 size = convert_float2(get_image_dim(from));
    write_imagef(to, at, read_imagef(from, nearest, at) + read_imagef(from, how, convert_float2(at) / size));
}
