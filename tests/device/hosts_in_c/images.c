/* Images of all kinds: kernels read and write them, the host copies, fills and maps them. */
#include "host.h"

enum { W = 13, H = 7, D = 5 };

static const char SOURCE[] =
    "constant sampler_t near = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;\n"
    "kernel void from_1d(read_only image1d_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0); out[x] = read_imageui(p, near, x);\n}\n"
    "kernel void from_buffer(read_only image1d_buffer_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0); out[x] = read_imageui(p, x);\n}\n"
    "kernel void from_1d_array(read_only image1d_array_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    out[x + y * get_global_size(0)] = read_imageui(p, near, (int2)(x, y));\n}\n"
    "kernel void from_2d(read_only image2d_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    out[x + y * get_global_size(0)] = read_imageui(p, near, (int2)(x, y));\n}\n"
    "kernel void from_2d_array(read_only image2d_array_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    out[x + get_global_size(0) * (y + z * get_global_size(1))] =\n"
    "        read_imageui(p, near, (int4)(x, y, z, 0));\n}\n"
    "kernel void from_3d(read_only image3d_t p, global uint4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);\n"
    "    out[x + get_global_size(0) * (y + z * get_global_size(1))] =\n"
    "        read_imageui(p, near, (int4)(x, y, z, 0));\n}\n"
    "kernel void to_2d(write_only image2d_t p) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    write_imageui(p, (int2)(x, y), (uint4)(x, y, x * y, 9));\n}\n"
    "kernel void sampled(read_only image2d_t p, sampler_t how, global const float2 *at,\n"
    "                    global float4 *out) {\n"
    "    int i = get_global_id(0); out[i] = read_imagef(p, how, at[i]);\n}\n"
    "kernel void asked(read_only image2d_array_t p, global int *out) {\n"
    "    out[0] = get_image_width(p); out[1] = get_image_height(p);\n"
    "    out[2] = get_image_array_size(p); out[3] = get_image_channel_order(p) - CLK_RGBA;\n"
    "    out[4] = get_image_channel_data_type(p) - CLK_UNSIGNED_INT16;\n}\n"
    "kernel void typed(read_only image2d_t p, global float4 *out) {\n"
    "    int x = get_global_id(0), y = get_global_id(1);\n"
    "    out[x + y * get_global_size(0)] = read_imagef(p, near, (int2)(x, y));\n}\n";

static cl_program program;

static cl_mem image(cl_mem_object_type kind, cl_image_format format, size_t w, size_t h, size_t d,
                    const void *texels, cl_mem of) {
    cl_image_desc shape = {.image_type = kind, .image_width = w};
    shape.buffer = of;
    shape.image_height = kind == CL_MEM_OBJECT_IMAGE1D_ARRAY ? 0 : h;
    const int has_slices = kind == CL_MEM_OBJECT_IMAGE3D;
    shape.image_depth = has_slices ? d : 0;
    shape.image_array_size = kind == CL_MEM_OBJECT_IMAGE1D_ARRAY   ? h
                             : kind == CL_MEM_OBJECT_IMAGE2D_ARRAY ? d
                                                                   : 0;
    cl_int error;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (texels ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem made = clCreateImage(context, flags, &format, &shape, (void *)texels, &error);
    MADE(error);
    return made;
}

static const cl_image_format FOUR_SHORTS = {CL_RGBA, CL_UNSIGNED_INT16};

/* Kernels read an image of each kind; the host reads a box of it, and what it copies to a buffer. */
static void kind(const char *name, cl_mem_object_type type, const char *kernel_name, size_t w, size_t h,
                 size_t d) {
    const size_t count = w * h * d;
    cl_ushort *texels = malloc(count * 8);
    for (size_t i = 0; i < 4 * count; i++) texels[i] = (cl_ushort)(i * 37 + i / 100);
    cl_mem linear = type == CL_MEM_OBJECT_IMAGE1D_BUFFER ? buffer_of(count * 8, texels) : NULL;
    cl_mem one = image(type, FOUR_SHORTS, w, h, d, linear ? NULL : texels, linear);
    cl_mem out = buffer_of(count * 16, NULL), copied = buffer_of(count * 8, NULL);
    cl_kernel kernel = kernel_of(program, kernel_name);
    ARGUMENT(kernel, 0, one);
    ARGUMENT(kernel, 1, out);
    const size_t sizes[3] = {w, h, d}, zero[3] = {0, 0, 0};
    DO(clEnqueueNDRangeKernel(queue, kernel, d > 1 ? 3 : h > 1 ? 2 : 1, NULL, sizes, NULL, 0, NULL, NULL));
    cl_uint *found = malloc(count * 16);
    read_back(out, found, count * 16);
    for (size_t i = 0; i < 4 * count; i++) is(name, found[i], texels[i]);
    DO(clEnqueueCopyImageToBuffer(queue, one, copied, zero, sizes, 0, 0, NULL, NULL));
    cl_ushort *back = malloc(count * 8);
    read_back(copied, back, count * 8);
    same_bytes(name, back, texels, count * 8);
    memset(back, 0, count * 8);
    DO(clEnqueueCopyBufferToImage(queue, copied, one, 0, zero, sizes, 0, NULL, NULL));
    DO(clEnqueueReadImage(queue, one, CL_TRUE, zero, sizes, 0, 0, back, 0, NULL, NULL));
    same_bytes(name, back, texels, count * 8);
    clReleaseMemObject(one);
    if (linear) clReleaseMemObject(linear);
    clReleaseMemObject(out);
    clReleaseMemObject(copied);
    clReleaseKernel(kernel);
    free(found);
    free(back);
    free(texels);
}

static void written(void) {
    cl_mem one = image(CL_MEM_OBJECT_IMAGE2D, FOUR_SHORTS, W, H, 1, NULL, NULL);
    cl_kernel kernel = kernel_of(program, "to_2d");
    ARGUMENT(kernel, 0, one);
    const size_t sizes[3] = {W, H, 1}, zero[3] = {0, 0, 0}, at[3] = {2, 3, 0}, box[3] = {4, 2, 1};
    DO(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, sizes, NULL, 0, NULL, NULL));
    const cl_uint colour[4] = {100, 200, 300, 400};
    DO(clEnqueueFillImage(queue, one, colour, at, box, 0, NULL, NULL));
    size_t pitch;
    cl_int error;
    cl_ushort *rows = clEnqueueMapImage(queue, one, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, zero, sizes,
                                        &pitch, NULL, 0, NULL, NULL, &error);
    MADE(error);
    for (size_t y = 0; y < H; y++)
        for (size_t x = 0; x < W; x++) {
            const int filled = x >= 2 && x < 6 && y >= 3 && y < 5;
            const cl_ushort *texel = (cl_ushort *)((char *)rows + y * pitch) + 4 * x;
            is("written x", texel[0], filled ? 100 : (long long)x);
            is("written xy", texel[2], filled ? 300 : (long long)(x * y));
        }
    rows[0] = 777;
    DO(clEnqueueUnmapMemObject(queue, one, rows, 0, NULL, NULL));
    cl_mem other = image(CL_MEM_OBJECT_IMAGE2D, FOUR_SHORTS, W, H, 1, NULL, NULL);
    DO(clEnqueueCopyImage(queue, one, other, zero, zero, sizes, 0, NULL, NULL));
    cl_ushort back[4];
    const size_t texel[3] = {1, 1, 1};
    DO(clEnqueueReadImage(queue, other, CL_TRUE, zero, texel, 0, 0, back, 0, NULL, NULL));
    is("mapped", back[0], 777);
    clReleaseMemObject(one);
    clReleaseMemObject(other);
    clReleaseKernel(kernel);
}

/* The texel that nearest filtering takes at a coordinate, -1 outside. */
static int nearest(float at, int size, cl_addressing_mode mode, int normalized) {
    if (mode == CL_ADDRESS_REPEAT) return (int)floorf((at - floorf(at)) * (float)size) % size;
    if (mode == CL_ADDRESS_MIRRORED_REPEAT) {
        const float whole = 2.0f * rintf(0.5f * at);
        at = fabsf(at - whole) * (float)size;
        const int found = (int)floorf(at);
        return found < size - 1 ? found : size - 1;
    }
    const int found = (int)floorf(normalized ? at * (float)size : at);
    if (mode == CL_ADDRESS_CLAMP_TO_EDGE) return found < 0 ? 0 : found >= size ? size - 1 : found;
    return found < 0 || found >= size ? -1 : found;
}

static void samplers(void) {
    enum { POINTS = 64 };
    cl_float texels[8 * 4];
    for (int i = 0; i < 32; i++) texels[i] = (float)(i * i + 1);
    cl_mem one = image(CL_MEM_OBJECT_IMAGE2D, (cl_image_format){CL_R, CL_FLOAT}, 8, 4, 1, texels, NULL);
    cl_float2 at[POINTS];
    cl_kernel kernel = kernel_of(program, "sampled");
    cl_mem out = buffer_of(POINTS * 16, NULL);
    const cl_addressing_mode modes[] = {CL_ADDRESS_CLAMP, CL_ADDRESS_CLAMP_TO_EDGE, CL_ADDRESS_REPEAT,
                                        CL_ADDRESS_MIRRORED_REPEAT};
    for (int normalized = 0; normalized < 2; normalized++)
        for (int m = 0; m < (normalized ? 4 : 2); m++) {
            cl_int error;
            cl_sampler how = clCreateSampler(context, (cl_bool)normalized, modes[m], CL_FILTER_NEAREST,
                                             &error);
            MADE(error);
            for (int i = 0; i < POINTS; i++) {
                /* Between texels' edges, so that all roundings agree. */
                const float x = (float)(i % 16 - 4) + 0.37f, y = (float)(i / 16 * 2 - 2) + 0.61f;
                at[i].s[0] = normalized ? x / 8 : x;
                at[i].s[1] = normalized ? y / 4 : y;
            }
            cl_mem points = buffer_of(sizeof at, at);
            ARGUMENT(kernel, 0, one);
            ARGUMENT(kernel, 1, how);
            ARGUMENT(kernel, 2, points);
            ARGUMENT(kernel, 3, out);
            run(kernel, POINTS, 0);
            cl_float4 found[POINTS];
            read_back(out, found, sizeof found);
            for (int i = 0; i < POINTS; i++) {
                const int x = nearest(at[i].s[0], 8, modes[m], normalized);
                const int y = nearest(at[i].s[1], 4, modes[m], normalized);
                const float wanted = x < 0 || y < 0 ? 0 : texels[8 * y + x];
                near_to("sampled", found[i].s[0], wanted, 0);
            }
            clReleaseMemObject(points);
            clReleaseSampler(how);
        }
    cl_int error;
    cl_sampler linear = clCreateSampler(context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_LINEAR,
                                        &error);
    MADE(error);
    for (int i = 0; i < POINTS; i++) at[i] = (cl_float2){{(float)(i % 7) + 0.75f, (float)(i % 3) + 1.0f}};
    cl_mem points = buffer_of(sizeof at, at);
    ARGUMENT(kernel, 1, linear);
    ARGUMENT(kernel, 2, points);
    run(kernel, POINTS, 0);
    cl_float4 found[POINTS];
    read_back(out, found, sizeof found);
    for (int i = 0; i < POINTS; i++) {
        const int x = i % 7, y = i % 3;
        const float *t = texels + 8 * y + x;
        const float top = 0.75f * t[0] + 0.25f * t[1], below = 0.75f * t[8] + 0.25f * t[9];
        near_to("between texels", found[i].s[0], 0.5f * top + 0.5f * below, 1e-2);
    }
    clReleaseMemObject(points);
    clReleaseMemObject(out);
    clReleaseMemObject(one);
    clReleaseSampler(linear);
    clReleaseKernel(kernel);
}

static void formats(void) {
    const cl_uchar bytes[4 * 4] = {0, 51, 102, 255, 255, 204, 153, 0, 1, 2, 3, 4, 128, 127, 126, 125};
    const struct {
        cl_image_format format;
        int order[4]; /* Which byte is red, green, blue, alpha; 4 stands for 0, and 5 for 1. */
        size_t bytes;
    } rows[] = {{{CL_RGBA, CL_UNORM_INT8}, {0, 1, 2, 3}, 4},
                {{CL_BGRA, CL_UNORM_INT8}, {2, 1, 0, 3}, 4},
                {{CL_RG, CL_UNORM_INT8}, {0, 1, 4, 5}, 2},
                {{CL_R, CL_UNORM_INT8}, {0, 4, 4, 5}, 1},
                {{CL_A, CL_UNORM_INT8}, {4, 4, 4, 0}, 1}};
    cl_kernel kernel = kernel_of(program, "typed");
    cl_mem out = buffer_of(4 * 16, NULL);
    cl_image_format known[256];
    cl_uint count;
    DO(clGetSupportedImageFormats(context, CL_MEM_READ_ONLY, CL_MEM_OBJECT_IMAGE2D, 256, known, &count));
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        int is_known = 0;
        for (cl_uint i = 0; i < count; i++)
            is_known |= memcmp(&known[i], &rows[r].format, sizeof *known) == 0;
        if (!is_known) continue;
        cl_mem one = image(CL_MEM_OBJECT_IMAGE2D, rows[r].format, 2, 2, 1, bytes, NULL);
        ARGUMENT(kernel, 0, one);
        ARGUMENT(kernel, 1, out);
        const size_t sizes[2] = {2, 2};
        DO(clEnqueueNDRangeKernel(queue, kernel, 2, NULL, sizes, NULL, 0, NULL, NULL));
        cl_float4 found[4];
        read_back(out, found, sizeof found);
        for (size_t i = 0; i < 4; i++)
            for (int c = 0; c < 4; c++) {
                const int place = rows[r].order[c];
                const float wanted = place > 3 ? (float)(place - 4)
                                               : (float)bytes[i * rows[r].bytes + (size_t)place] / 255;
                near_to("channel", found[i].s[c], wanted, 1e-6);
            }
        clReleaseMemObject(one);
    }
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
}

int main(void) {
    open_device();
    cl_bool has_images;
    DO(clGetDeviceInfo(device, CL_DEVICE_IMAGE_SUPPORT, sizeof has_images, &has_images, NULL));
    if (!has_images) {
        printf("no images\n");
        return 0;
    }
    program = build(SOURCE, "");
    kind("1D", CL_MEM_OBJECT_IMAGE1D, "from_1d", W, 1, 1);
    kind("buffer", CL_MEM_OBJECT_IMAGE1D_BUFFER, "from_buffer", W, 1, 1);
    kind("1D array", CL_MEM_OBJECT_IMAGE1D_ARRAY, "from_1d_array", W, H, 1);
    kind("2D", CL_MEM_OBJECT_IMAGE2D, "from_2d", W, H, 1);
    kind("2D array", CL_MEM_OBJECT_IMAGE2D_ARRAY, "from_2d_array", W, H, D);
    kind("3D", CL_MEM_OBJECT_IMAGE3D, "from_3d", W, H, D);
    written();
    samplers();
    formats();
    cl_mem many = image(CL_MEM_OBJECT_IMAGE2D_ARRAY, FOUR_SHORTS, W, H, D, NULL, NULL);
    cl_mem out = buffer_of(20, NULL);
    cl_kernel kernel = kernel_of(program, "asked");
    ARGUMENT(kernel, 0, many);
    ARGUMENT(kernel, 1, out);
    run(kernel, 1, 0);
    cl_int found[5];
    const cl_int wanted[5] = {W, H, D, 0, 0};
    read_back(out, found, sizeof found);
    for (int i = 0; i < 5; i++) is("asked", found[i], wanted[i]);
    return ended();
}
