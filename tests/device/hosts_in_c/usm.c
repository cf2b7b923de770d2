/* Unified shared memory of Intel's extension: memory of the host, of the device, and shared. */
#include "host.h"

#define NAMED(type, name) static type name
typedef void *(*host_alloc)(cl_context, const cl_bitfield *, size_t, cl_uint, cl_int *);
typedef void *(*device_alloc)(cl_context, cl_device_id, const cl_bitfield *, size_t, cl_uint, cl_int *);
typedef cl_int (*free_memory)(cl_context, void *);
typedef cl_int (*copy_memory)(cl_command_queue, cl_bool, void *, const void *, size_t, cl_uint,
                              const cl_event *, cl_event *);
typedef cl_int (*fill_memory)(cl_command_queue, void *, const void *, size_t, size_t, cl_uint,
                              const cl_event *, cl_event *);
typedef cl_int (*argument)(cl_kernel, cl_uint, const void *);
typedef cl_int (*asked)(cl_context, const void *, cl_uint, size_t, void *, size_t *);
NAMED(host_alloc, on_host);
NAMED(device_alloc, on_device);
NAMED(device_alloc, shared);
NAMED(free_memory, release);
NAMED(free_memory, release_after);
NAMED(copy_memory, copy);
NAMED(fill_memory, fill);
NAMED(argument, set);
NAMED(asked, ask);

enum { KIND = 0x419A, BASE = 0x419B, SIZE = 0x419C, HOST = 0x4197, DEVICE = 0x4198, SHARED = 0x4199,
       INDIRECT_HOST = 0x4200, INDIRECT_DEVICE = 0x4201, INDIRECT_SHARED = 0x4202, COUNT = 5000 };

static const char SOURCE[] =
    "kernel void add(global int *x, global const int *y) {\n"
    "    size_t i = get_global_id(0); x[i] += y[i];\n}\n"
    "struct box { global int *there; global int *here; };\n"
    "kernel void follow(global struct box *b) {\n"
    "    b->there[get_global_id(0)] = b->here[get_global_id(0)] + 1;\n}\n"
    "kernel void mixed(global const int *a, local int *room, global int *b) {\n"
    "    int i = get_local_id(0);\n"
    "    room[i] = a[get_global_id(0)];\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    b[get_global_id(0)] = room[get_local_size(0) - 1 - i];\n}\n";

static void *function(const char *name) {
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    if (!found) {
        printf("no unified shared memory\n");
        exit(0);
    }
    return found;
}

static void all_kinds(cl_program program) {
    cl_kernel add = kernel_of(program, "add");
    cl_int error, room[COUNT];
    int *a = on_host(context, NULL, COUNT * 4, 64, &error);
    MADE(error);
    int *b = shared(context, device, NULL, COUNT * 4, 0, &error);
    MADE(error);
    int *c = on_device(context, device, NULL, COUNT * 4, 0, &error);
    MADE(error);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < COUNT; i++) a[i] = i, b[i] = 10 * i + turn;
        DO(copy(queue, CL_FALSE, c, b, COUNT * 4, 0, NULL, NULL));
        DO(set(add, 0, b));
        DO(set(add, 1, a));
        run(add, COUNT, 0);
        DO(set(add, 0, c));
        DO(set(add, 1, b));
        run(add, COUNT, 0);
        DO(copy(queue, CL_TRUE, room, c, COUNT * 4, 0, NULL, NULL));
        for (int i = 0; i < COUNT; i++) is("sum", room[i], 21 * i + 2 * turn);
        for (int i = 0; i < COUNT; i++) is("shared", b[i], 11 * i + turn);
    }
    const int pattern[2] = {3, 4};
    DO(fill(queue, c + 8, pattern, 8, 80, 0, NULL, NULL));
    DO(copy(queue, CL_TRUE, room, c, 160, 0, NULL, NULL));
    is("filled", room[8] * 10 + room[27], 34);
    is("behind", room[28], 21 * 28 + 4);
    cl_uint kind;
    void *base;
    size_t size;
    DO(ask(context, c + 100, KIND, sizeof kind, &kind, NULL));
    DO(ask(context, c + 100, BASE, sizeof base, &base, NULL));
    DO(ask(context, c + 100, SIZE, sizeof size, &size, NULL));
    is("kind", kind, DEVICE);
    is("base", base == c, 1);
    is("size", (long long)size, COUNT * 4);
    DO(ask(context, a, KIND, sizeof kind, &kind, NULL));
    is("kind", kind, HOST);
    DO(ask(context, b, KIND, sizeof kind, &kind, NULL));
    is("kind", kind, SHARED);
    DO(release(context, a));
    DO(release(context, b));
    DO(release_after(context, c));
    clReleaseKernel(add);
}

static void indirect(cl_program program) {
    cl_kernel follow = kernel_of(program, "follow");
    cl_int error, room[256];
    struct box { int *there, *here; } *box = on_host(context, NULL, sizeof *box, 0, &error);
    MADE(error);
    box->there = on_device(context, device, NULL, 1024, 0, &error);
    MADE(error);
    box->here = shared(context, device, NULL, 1024, 0, &error);
    MADE(error);
    for (int i = 0; i < 256; i++) box->here[i] = i * i;
    const cl_bool yes = CL_TRUE;
    DO(clSetKernelExecInfo(follow, INDIRECT_HOST, sizeof yes, &yes));
    DO(clSetKernelExecInfo(follow, INDIRECT_DEVICE, sizeof yes, &yes));
    DO(clSetKernelExecInfo(follow, INDIRECT_SHARED, sizeof yes, &yes));
    DO(set(follow, 0, box));
    run(follow, 256, 0);
    DO(copy(queue, CL_TRUE, room, box->there, 1024, 0, NULL, NULL));
    for (int i = 0; i < 256; i++) is("followed", room[i], i * i + 1);
    DO(release_after(context, box->there));
    DO(release_after(context, box->here));
    DO(release_after(context, box));
    clReleaseKernel(follow);
}

/* One launch with a buffer, local memory, and memory that is shared. */
static void mixed(cl_program program) {
    cl_kernel kernel = kernel_of(program, "mixed");
    cl_int error, room[256];
    for (int i = 0; i < 256; i++) room[i] = 7 * i;
    cl_mem buffer = buffer_of(sizeof room, room);
    int *b = shared(context, device, NULL, sizeof room, 0, &error);
    MADE(error);
    ARGUMENT(kernel, 0, buffer);
    DO(clSetKernelArg(kernel, 1, 32 * 4, NULL));
    DO(set(kernel, 2, b));
    run(kernel, 256, 32);
    DO(clFinish(queue));
    for (int i = 0; i < 256; i++) is("turned", b[i], 7 * (i / 32 * 32 + 31 - i % 32));
    DO(release(context, b));
    clReleaseMemObject(buffer);
    clReleaseKernel(kernel);
}

int main(void) {
    open_device();
    *(void **)&on_host = function("clHostMemAllocINTEL");
    *(void **)&on_device = function("clDeviceMemAllocINTEL");
    *(void **)&shared = function("clSharedMemAllocINTEL");
    *(void **)&release = function("clMemFreeINTEL");
    *(void **)&release_after = function("clMemBlockingFreeINTEL");
    *(void **)&copy = function("clEnqueueMemcpyINTEL");
    *(void **)&fill = function("clEnqueueMemFillINTEL");
    *(void **)&set = function("clSetKernelArgMemPointerINTEL");
    *(void **)&ask = function("clGetMemAllocInfoINTEL");
    cl_program program = build(SOURCE, "");
    all_kinds(program);
    indirect(program);
    mixed(program);
    return ended();
}
