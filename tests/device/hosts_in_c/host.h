/* What the OpenCL programs of this folder share: a device, a queue, and checks.
 *
 * Each program compares what the device did with what the host computes, or with what OpenCL's
 * specification says. It prints a line for each check that fails, and ends with 1 if one did.
 */
#ifndef HOST_H
#define HOST_H
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong_checks;
static cl_platform_id platform;
static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

/* A call that has to succeed. */
#define DO(call)                                                                   \
    do {                                                                           \
        const cl_int status_ = (call);                                             \
        if (status_ != CL_SUCCESS) {                                               \
            printf("line %d: %s returned %d\n", __LINE__, #call, status_);         \
            exit(2);                                                               \
        }                                                                          \
    } while (0)
#define MADE(error)                                                                \
    do {                                                                           \
        if ((error) != CL_SUCCESS) {                                               \
            printf("line %d: error %d\n", __LINE__, (error));                      \
            exit(2);                                                               \
        }                                                                          \
    } while (0)

static inline void is(const char *name, long long found, long long wanted) {
    if (found == wanted) return;
    printf("%s: %lld, wanted %lld\n", name, found, wanted);
    wrong_checks++;
}

static inline void near_to(const char *name, double found, double wanted, double relative) {
    if (fabs(found - wanted) <= relative * fabs(wanted) + 1e-30) return;
    printf("%s: %.9g, wanted %.9g\n", name, found, wanted);
    wrong_checks++;
}

static inline void same_bytes(const char *name, const void *found, const void *wanted, size_t size) {
    const unsigned char *a = found, *b = wanted;
    for (size_t i = 0; i < size; i++)
        if (a[i] != b[i]) {
            printf("%s: byte %zu of %zu is 0x%02x, wanted 0x%02x\n", name, i, size, a[i], b[i]);
            wrong_checks++;
            return;
        }
}

static inline void open_device(void) {
    DO(clGetPlatformIDs(1, &platform, NULL));
    DO(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
    cl_int error;
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    MADE(error);
    const cl_queue_properties properties[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_PROFILING_ENABLE, 0};
    queue = clCreateCommandQueueWithProperties(context, device, properties, &error);
    MADE(error);
}

static inline int has_extension(const char *name) {
    static char text[1 << 16];
    DO(clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text, text, NULL));
    return strstr(text, name) != NULL;
}

static inline int driver_begins_with(const char *version) {
    char text[64] = "";
    DO(clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof text, text, NULL));
    return strncmp(text, version, strlen(version)) == 0;
}

static inline cl_program build(const char *source, const char *options) {
    cl_int error;
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &error);
    MADE(error);
    if (clBuildProgram(program, 1, &device, options, NULL, NULL) != CL_SUCCESS) {
        static char log[1 << 16];
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
        printf("%s\n", log);
        exit(2);
    }
    return program;
}

static inline cl_kernel kernel_of(cl_program program, const char *name) {
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    MADE(error);
    return kernel;
}

static inline cl_mem buffer_of(size_t size, const void *bytes) {
    cl_int error;
    const cl_mem_flags flags = CL_MEM_READ_WRITE | (bytes ? CL_MEM_COPY_HOST_PTR : 0);
    cl_mem buffer = clCreateBuffer(context, flags, size, (void *)bytes, &error);
    MADE(error);
    return buffer;
}

static inline void read_back(cl_mem buffer, void *room, size_t size) {
    DO(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, room, 0, NULL, NULL));
}

static inline void run(cl_kernel kernel, size_t count, size_t group) {
    DO(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &count, group ? &group : NULL, 0, NULL, NULL));
}

#define ARGUMENT(kernel, index, value) DO(clSetKernelArg(kernel, index, sizeof(value), &(value)))

static inline int ended(void) {
    DO(clFinish(queue));
    printf(wrong_checks ? "%d checks failed\n" : "all right\n", wrong_checks);
    return wrong_checks ? 1 : 0;
}
#endif
