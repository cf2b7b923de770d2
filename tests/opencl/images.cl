#pragma OPENCL EXTENSION cl_khr_fp16 : enable

const sampler_t REPEAT_LINEAR =
    CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR;
const sampler_t BORDER_NEAREST =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
const sampler_t EDGE_NEAREST =
    CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
const sampler_t MIRROR_LINEAR =
    CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_MIRRORED_REPEAT | CLK_FILTER_LINEAR;

#define I get_global_id(0)

// A sampler and an image of every kind.

kernel void sample_1d(read_only image1d_t image, sampler_t s, global float4 *at, global float4 *out) {
    out[I] = read_imagef(image, s, at[I].x);
}

kernel void sample_1d_array(read_only image1d_array_t image, sampler_t s, global float4 *at,
                            global float4 *out) {
    out[I] = read_imagef(image, s, at[I].xy);
}

kernel void sample_2d(read_only image2d_t image, sampler_t s, global float4 *at, global float4 *out) {
    out[I] = read_imagef(image, s, at[I].xy);
}

kernel void sample_2d_array(read_only image2d_array_t image, sampler_t s, global float4 *at,
                            global float4 *out) {
    out[I] = read_imagef(image, s, at[I]);
}

kernel void sample_3d(read_only image3d_t image, sampler_t s, global float4 *at, global float4 *out) {
    out[I] = read_imagef(image, s, at[I]);
}

kernel void sample_depth(read_only image2d_depth_t image, sampler_t s, global float4 *at,
                         global float *out) {
    out[I] = read_imagef(image, s, at[I].xy);
}

kernel void sample_half(read_only image2d_t image, sampler_t s, global float4 *at,
                        global half4 *out) {
    out[I] = read_imageh(image, s, at[I].xy);
}

kernel void sample_int(read_only image2d_t image, sampler_t s, global float4 *at, global int4 *out) {
    out[I] = read_imagei(image, s, at[I].xy);
}

kernel void sample_uint(read_only image2d_t image, sampler_t s, global float4 *at,
                        global uint4 *out) {
    out[I] = read_imageui(image, s, at[I].xy);
}

kernel void sample_whole(read_only image2d_t image, sampler_t s, global int4 *at,
                         global float4 *out) {
    out[I] = read_imagef(image, s, at[I].xy);
}

// Samplers inside the program.

kernel void inline_samplers(read_only image2d_t image, global float4 *at, global float4 *out) {
    int n = get_global_size(0);
    out[I] = read_imagef(image, REPEAT_LINEAR, at[I].xy);
    out[n + I] = read_imagef(image, BORDER_NEAREST, at[I].xy);
    out[2 * n + I] = read_imagef(image, EDGE_NEAREST, at[I].xy);
    out[3 * n + I] = read_imagef(image, MIRROR_LINEAR, at[I].xy);
}

kernel void inline_border_int(read_only image2d_t image, global int4 *at, global int4 *out) {
    out[I] = read_imagei(image, BORDER_NEAREST, at[I].xy);
}

// Whole texels without a sampler, copied to an image of the same kind.

#define X get_global_id(0)
#define Y get_global_id(1)
#define Z get_global_id(2)

kernel void copy_1d(read_only image1d_t from, write_only image1d_t to) {
    write_imagef(to, (int)X, read_imagef(from, (int)X));
}

kernel void copy_1d_buffer(read_only image1d_buffer_t from, write_only image1d_buffer_t to) {
    write_imagef(to, (int)X, read_imagef(from, (int)X));
}

kernel void copy_1d_array(read_only image1d_array_t from, write_only image1d_array_t to) {
    int2 at = (int2)(X, Y);
    write_imagef(to, at, read_imagef(from, at));
}

kernel void copy_2d(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(X, Y);
    write_imagef(to, at, read_imagef(from, at));
}

kernel void copy_2d_array(read_only image2d_array_t from, write_only image2d_array_t to) {
    int4 at = (int4)(X, Y, Z, 0);
    write_imagef(to, at, read_imagef(from, at));
}

kernel void copy_3d(read_only image3d_t from, write_only image3d_t to) {
    int4 at = (int4)(X, Y, Z, 0);
    write_imagef(to, at, read_imagef(from, at));
}

// Writes of given values, and back.

kernel void write_float(write_only image2d_t image, global float4 *values) {
    write_imagef(image, (int2)(X, Y), values[Y * get_global_size(0) + X]);
}

kernel void read_float(read_only image2d_t image, global float4 *values) {
    values[Y * get_global_size(0) + X] = read_imagef(image, (int2)(X, Y));
}

kernel void write_int(write_only image2d_t image, global int4 *values) {
    write_imagei(image, (int2)(X, Y), values[Y * get_global_size(0) + X]);
}

kernel void read_int(read_only image2d_t image, global int4 *values) {
    values[Y * get_global_size(0) + X] = read_imagei(image, (int2)(X, Y));
}

kernel void write_uint(write_only image2d_t image, global uint4 *values) {
    write_imageui(image, (int2)(X, Y), values[Y * get_global_size(0) + X]);
}

kernel void read_uint(read_only image2d_t image, global uint4 *values) {
    values[Y * get_global_size(0) + X] = read_imageui(image, (int2)(X, Y));
}

kernel void scatter(write_only image2d_t image, global int4 *at, float4 value) {
    write_imagef(image, at[I].xy, value);
}

kernel void double_it(read_write image2d_t image) {
    int2 at = (int2)(X, Y);
    write_imagef(image, at, read_imagef(image, at) * 2.0f);
}

// Questions.

kernel void sizes(read_only image2d_t a, read_only image3d_t b, read_only image2d_array_t c,
                  read_only image1d_array_t d, global int *out) {
    out[0] = get_image_width(a);
    out[1] = get_image_height(a);
    out[2] = get_image_channel_data_type(a);
    out[3] = get_image_channel_order(a);
    out[4] = get_image_width(b);
    out[5] = get_image_height(b);
    out[6] = get_image_depth(b);
    out[7] = get_image_width(c);
    out[8] = get_image_height(c);
    out[9] = get_image_array_size(c);
    out[10] = get_image_width(d);
    out[11] = get_image_array_size(d);
}

// Blocks of sub-groups.

__attribute__((intel_reqd_sub_group_size(16)))
kernel void blocks(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(get_group_id(0) * 64, get_global_id(1) * 2);
    intel_sub_group_block_write2(to, at, intel_sub_group_block_read2(from, at) + 1);
}

// A picture is filtered.

kernel void blur(read_only image2d_t from, write_only image2d_t to) {
    int2 at = (int2)(X, Y);
    float4 sum = 0.0f;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
            sum += read_imagef(from, EDGE_NEAREST, at + (int2)(dx, dy));
    write_imagef(to, at, sum * 0.125f);
}
