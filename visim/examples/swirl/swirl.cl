/* A picture, turned around its centre: the further inside, the more. One work-item a pixel.
 *
 * angle is the turn at the centre in radians. The sampler takes coordinates from 0 to 1.
 */
__kernel void swirl(__read_only image2d_t from, __write_only image2d_t to, sampler_t how, float angle)
{
    const int2 at = (int2)(get_global_id(0), get_global_id(1));
    const float2 size = convert_float2(get_image_dim(to));
    const float2 offset = (convert_float2(at) + 0.5f) / size - 0.5f;
    const float turn = angle * native_exp2(-8.0f * dot(offset, offset));
    const float c = native_cos(turn), s = native_sin(turn);
    const float2 place = (float2)(c * offset.x - s * offset.y, s * offset.x + c * offset.y) + 0.5f;
    write_imagef(to, at, read_imagef(from, how, place));
}
