/* Buffers of several GiB: kernels and copies reach what lies behind the first four. */
#include "host.h"

static const char SOURCE[] =
    "kernel void mark(global uchar *x, ulong step) {\n"
    "    ulong i = get_global_id(0); x[i * step] = (uchar)(i * 3 + 1);\n}\n";

int main(void) {
    open_device();
    cl_ulong most;
    DO(clGetDeviceInfo(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof most, &most, NULL));
    const cl_ulong wanted = 5ULL << 30, size = most < wanted ? most & ~4095ULL : wanted;
    cl_program program = build(SOURCE, size > (4ULL << 30) ? "-cl-intel-greater-than-4GB-buffer-required" : "");
    cl_kernel kernel = kernel_of(program, "mark");
    cl_int error;
    cl_mem x = clCreateBuffer(context, CL_MEM_READ_WRITE | 1 << 23, size, NULL, &error);
    if (error != CL_SUCCESS) x = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &error);
    MADE(error);
    enum { COUNT = 160 };
    const cl_ulong step = (size - 1) / (COUNT - 1);
    ARGUMENT(kernel, 0, x);
    ARGUMENT(kernel, 1, step);
    run(kernel, COUNT, 0);
    for (int i = 0; i < COUNT; i++) {
        cl_uchar found = 0;
        DO(clEnqueueReadBuffer(queue, x, CL_TRUE, i * step, 1, &found, 0, NULL, NULL));
        is("marked", found, (cl_uchar)(i * 3 + 1));
    }
    DO(clEnqueueCopyBuffer(queue, x, x, 0, size - 8192, 4096, 0, NULL, NULL));
    cl_uchar room[2] = {0};
    DO(clEnqueueReadBuffer(queue, x, CL_TRUE, size - 8192, 1, room, 0, NULL, NULL));
    is("copied to the end", room[0], 1);
    clReleaseMemObject(x);
    return ended();
}
