/* Arguments by value: structures, vectors, and what a kernel says of its arguments. */
#include "host.h"

static const char SOURCE[] =
    "struct inner { char c; short s; };\n"
    "struct outer { int a; struct inner parts[3]; long b; float3 v; uchar last; };\n"
    "kernel void spread(global long *out, struct outer o, char4 c, short3 s, long2 l, uchar u,\n"
    "                   float16 f, int8 i) {\n"
    "    size_t n = get_global_id(0);\n"
    "    out[0 + n] = o.a; out[1] = o.parts[0].c; out[2] = o.parts[1].s; out[3] = o.parts[2].c;\n"
    "    out[4] = o.b; out[5] = (long)(o.v.z * 4); out[6] = o.last;\n"
    "    out[7] = c.s3; out[8] = s.s2; out[9] = l.s1; out[10] = u;\n"
    "    out[11] = (long)(f.sF * 2); out[12] = i.s7;\n"
    "    for (int k = 0; k < 3; k++) out[13 + k] = o.parts[k].s * o.parts[k].c;\n"
    "}\n"
    "kernel __attribute__((reqd_work_group_size(8, 2, 1))) void fixed(global int *x, local int *y,\n"
    "    constant float *z, int picture, sampler_t how) { *x = 1; }\n";

struct inner { cl_char c; cl_short s; };
struct outer {
    cl_int a;
    struct inner parts[3];
    cl_long b;
    cl_float3 v;
    cl_uchar last;
};

static void by_value(cl_program program) {
    cl_kernel kernel = kernel_of(program, "spread");
    struct outer o = {.a = -7, .parts = {{3, -300}, {-4, 400}, {5, -500}}, .b = -(1LL << 40),
                      .v = {{1.5f, 2.5f, -3.25f, 0}}, .last = 250};
    cl_char4 c = {{1, 2, 3, -4}};
    cl_short3 s = {{10, 20, -30, 0}};
    cl_long2 l = {{1, 1LL << 50}};
    cl_uchar u = 200;
    cl_float16 f = {{0}};
    f.s[15] = 8.5f;
    cl_int8 i = {{0, 0, 0, 0, 0, 0, 0, -88}};
    cl_mem out = buffer_of(16 * 8, NULL);
    ARGUMENT(kernel, 0, out);
    ARGUMENT(kernel, 1, o);
    ARGUMENT(kernel, 2, c);
    ARGUMENT(kernel, 3, s);
    ARGUMENT(kernel, 4, l);
    ARGUMENT(kernel, 5, u);
    ARGUMENT(kernel, 6, f);
    ARGUMENT(kernel, 7, i);
    run(kernel, 1, 0);
    cl_long found[16];
    const cl_long wanted[16] = {-7, 3, 400, 5, -(1LL << 40), -13, 250, -4, -30, 1LL << 50, 200, 17,
                                -88, -900, -1600, -2500};
    read_back(out, found, sizeof found);
    for (int k = 0; k < 16; k++) is("value", found[k], wanted[k]);
    if (!driver_begins_with("22.43")) /* That one takes a part of a structure. */
        is("size of a structure", clSetKernelArg(kernel, 1, sizeof o - 4, &o), CL_INVALID_ARG_SIZE);
    /* A call that failed leaves the value; what a call has taken is a copy. */
    o.a = 99;
    run(kernel, 1, 0);
    read_back(out, found, 8);
    is("after a wrong size", found[0], -7);
    clReleaseMemObject(out);
    clReleaseKernel(kernel);
}

static void described(cl_program program) {
    cl_kernel kernel = kernel_of(program, "fixed");
    char text[64];
    size_t sizes[3] = {0}, needed;
    cl_uint count, where;
    cl_kernel_arg_type_qualifier how;
    DO(clGetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof count, &count, NULL));
    is("arguments", count, 5);
    DO(clGetKernelWorkGroupInfo(kernel, device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof sizes, sizes,
                                NULL));
    is("width of groups", (long long)sizes[0] * 100 + (long long)sizes[1], 802);
    DO(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_TYPE_NAME, sizeof text, text, NULL));
    is("type", strcmp(text, "float*"), 0);
    DO(clGetKernelArgInfo(kernel, 1, CL_KERNEL_ARG_ADDRESS_QUALIFIER, sizeof where, &where, NULL));
    is("where", where, CL_KERNEL_ARG_ADDRESS_LOCAL);
    DO(clGetKernelArgInfo(kernel, 2, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof how, &how, NULL));
    is("how", (long long)how, CL_KERNEL_ARG_TYPE_CONST);
    DO(clGetKernelArgInfo(kernel, 0, CL_KERNEL_ARG_ACCESS_QUALIFIER, sizeof where, &where, NULL));
    is("access", where, CL_KERNEL_ARG_ACCESS_NONE);
    DO(clGetKernelArgInfo(kernel, 3, CL_KERNEL_ARG_NAME, 0, NULL, &needed));
    is("size of a name", (long long)needed, sizeof "picture");
    DO(clGetKernelArgInfo(kernel, 3, CL_KERNEL_ARG_NAME, sizeof text, text, NULL));
    is("name", strcmp(text, "picture"), 0);
    is("no room", clGetKernelArgInfo(kernel, 3, CL_KERNEL_ARG_NAME, 3, text, NULL), CL_INVALID_VALUE);
    is("no argument", clGetKernelArgInfo(kernel, 5, CL_KERNEL_ARG_NAME, sizeof text, text, NULL),
       CL_INVALID_ARG_INDEX);
    clReleaseKernel(kernel);
}

int main(void) {
    open_device();
    cl_program program = build(SOURCE, "-cl-kernel-arg-info");
    by_value(program);
    described(program);
    return ended();
}
