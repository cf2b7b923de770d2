/* Calls that are wrong, and the errors that OpenCL's specification names for them.
 *
 * Only what Intel's driver checks: it takes ranges outside of buffers, copies that overlap, and
 * memory of another context as they are, before any device is asked.
 */
#include "host.h"

static const char SOURCE[] =
    "kernel void k(global int *x, local int *y, int z) { y[get_local_id(0)] = z; *x = *y; }\n"
    "kernel __attribute__((reqd_work_group_size(4, 1, 1))) void four(global int *x) { *x = 1; }\n";

#define RETURNS(code, call) is(#call, call, code)
#define GIVES(code, call)             \
    do {                              \
        cl_int error = 12345;         \
        (void)(call);                 \
        is(#call, error, code);       \
    } while (0)

int main(void) {
    open_device();
    cl_program program = build(SOURCE, "");
    cl_kernel k = kernel_of(program, "k"), four = kernel_of(program, "four");
    cl_mem x = buffer_of(4096, NULL);
    cl_int seven = 7, room[16];
    const size_t one = 1, eight = 8;
    cl_event event;
    size_t size;

    GIVES(CL_INVALID_VALUE, clCreateContext(NULL, 0, NULL, NULL, NULL, &error));
    GIVES(CL_INVALID_BUFFER_SIZE, clCreateBuffer(context, CL_MEM_READ_WRITE, 0, NULL, &error));
    GIVES(CL_INVALID_HOST_PTR, clCreateBuffer(context, CL_MEM_USE_HOST_PTR, 64, NULL, &error));
    GIVES(CL_INVALID_HOST_PTR, clCreateBuffer(context, CL_MEM_READ_WRITE, 64, room, &error));
    GIVES(CL_INVALID_VALUE,
          clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY, 64, NULL, &error));
    GIVES(CL_INVALID_CONTEXT, clCreateBuffer(NULL, CL_MEM_READ_WRITE, 64, NULL, &error));
    cl_buffer_region outside = {4096, 64}, empty = {0, 0}, crooked = {1, 64};
    GIVES(CL_INVALID_VALUE, clCreateSubBuffer(x, 0, CL_BUFFER_CREATE_TYPE_REGION, &outside, &error));
    GIVES(CL_INVALID_BUFFER_SIZE,
          clCreateSubBuffer(x, 0, CL_BUFFER_CREATE_TYPE_REGION, &empty, &error));
    GIVES(CL_MISALIGNED_SUB_BUFFER_OFFSET,
          clCreateSubBuffer(x, 0, CL_BUFFER_CREATE_TYPE_REGION, &crooked, &error));
    GIVES(CL_INVALID_KERNEL_NAME, clCreateKernel(program, "nothing", &error));
    GIVES(CL_INVALID_VALUE, clCreateProgramWithSource(context, 0, NULL, NULL, &error));
    const unsigned char junk[16] = "no program";
    const unsigned char *bytes = junk;
    cl_int status;
    GIVES(CL_INVALID_BINARY, clCreateProgramWithBinary(context, 1, &device, (size_t[]){16}, &bytes,
                                                       &status, &error));
    const char *broken = "kernel void k( {";
    cl_program bad = clCreateProgramWithSource(context, 1, &broken, NULL, &status);
    RETURNS(CL_BUILD_PROGRAM_FAILURE, clBuildProgram(bad, 1, &device, "", NULL, NULL));
    RETURNS(CL_COMPILE_PROGRAM_FAILURE,
            clCompileProgram(bad, 1, &device, "", 0, NULL, NULL, NULL, NULL));
    GIVES(CL_INVALID_PROGRAM_EXECUTABLE, clCreateKernel(bad, "k", &error));

    RETURNS(CL_INVALID_ARG_INDEX, clSetKernelArg(k, 3, 4, &seven));
    RETURNS(CL_INVALID_ARG_VALUE, clSetKernelArg(k, 2, 4, NULL));
    RETURNS(CL_INVALID_ARG_SIZE, clSetKernelArg(k, 0, 4, &x));
    RETURNS(CL_INVALID_KERNEL_ARGS,
            clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, NULL, 0, NULL, NULL));
    ARGUMENT(k, 0, x);
    DO(clSetKernelArg(k, 1, 64, NULL));
    ARGUMENT(k, 2, seven);
    ARGUMENT(four, 0, x);
    RETURNS(CL_INVALID_WORK_DIMENSION,
            clEnqueueNDRangeKernel(queue, k, 4, NULL, &one, NULL, 0, NULL, NULL));
    RETURNS(CL_INVALID_WORK_GROUP_SIZE,
            clEnqueueNDRangeKernel(queue, four, 1, NULL, &eight, &eight, 0, NULL, NULL));
    RETURNS(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, NULL, 1, NULL, NULL));
    RETURNS(CL_INVALID_EVENT_WAIT_LIST,
            clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, NULL, 0, &event, NULL));
    DO(clSetKernelArg(k, 1, (size_t)1 << 22, NULL));
    RETURNS(CL_OUT_OF_RESOURCES,
            clEnqueueNDRangeKernel(queue, k, 1, NULL, &one, NULL, 0, NULL, NULL));

    RETURNS(CL_INVALID_VALUE, clEnqueueReadBuffer(queue, x, CL_TRUE, 0, 64, NULL, 0, NULL, NULL));
    RETURNS(CL_INVALID_MEM_OBJECT,
            clEnqueueReadBuffer(queue, NULL, CL_TRUE, 0, 64, room, 0, NULL, NULL));
    RETURNS(CL_INVALID_VALUE, clEnqueueFillBuffer(queue, x, room, 3, 0, 64, 0, NULL, NULL));
    RETURNS(CL_INVALID_VALUE, clEnqueueUnmapMemObject(queue, x, room, 0, NULL, NULL));
    RETURNS(CL_INVALID_COMMAND_QUEUE, clFinish(NULL));
    RETURNS(CL_INVALID_EVENT, clWaitForEvents(1, (cl_event[]){NULL}));
    RETURNS(CL_INVALID_VALUE, clGetDeviceInfo(device, CL_DEVICE_NAME, 1, room, NULL));
    RETURNS(CL_INVALID_VALUE, clGetDeviceInfo(device, 0x9999, sizeof room, room, NULL));
    RETURNS(CL_INVALID_DEVICE, clGetDeviceInfo(NULL, CL_DEVICE_NAME, 0, NULL, &size));
    RETURNS(CL_INVALID_MEM_OBJECT, clReleaseMemObject(NULL));
    RETURNS(CL_INVALID_KERNEL, clReleaseKernel(NULL));
    RETURNS(CL_INVALID_CONTEXT, clReleaseContext(NULL));

    DO(clEnqueueNDRangeKernel(queue, four, 1, NULL, &eight, NULL, 0, NULL, &event));
    DO(clWaitForEvents(1, &event));
    cl_command_queue plain = clCreateCommandQueueWithProperties(context, device, NULL, &status);
    cl_event untimed;
    DO(clEnqueueNDRangeKernel(plain, four, 1, NULL, &eight, NULL, 0, NULL, &untimed));
    DO(clWaitForEvents(1, &untimed));
    cl_ulong time;
    RETURNS(CL_PROFILING_INFO_NOT_AVAILABLE,
            clGetEventProfilingInfo(untimed, CL_PROFILING_COMMAND_END, 8, &time, NULL));
    return ended();
}
