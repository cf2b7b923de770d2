/* Two contexts, threads that share a context, parts of a device, and children of the program. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host.h"

static const char SOURCE[] =
    "kernel void add(global int *x, int v) { atomic_add(x + get_global_id(0) % 64, v); }\n";
enum { THREADS = 4, TURNS = 12 };

static cl_context context_of(void) {
    cl_int error;
    cl_context made = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
    MADE(error);
    return made;
}

/* Builds and runs in a context of its own; returns the sum that it finds. */
static long alone(cl_context own, int value) {
    cl_int error, room[64] = {0};
    cl_command_queue line = clCreateCommandQueueWithProperties(own, device, NULL, &error);
    MADE(error);
    const char *text = SOURCE;
    cl_program program = clCreateProgramWithSource(own, 1, &text, NULL, &error);
    MADE(error);
    DO(clBuildProgram(program, 1, &device, "", NULL, NULL));
    cl_kernel kernel = kernel_of(program, "add");
    cl_mem x = clCreateBuffer(own, CL_MEM_COPY_HOST_PTR, sizeof room, room, &error);
    MADE(error);
    ARGUMENT(kernel, 0, x);
    ARGUMENT(kernel, 1, value);
    const size_t count = 640;
    DO(clEnqueueNDRangeKernel(line, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
    DO(clEnqueueReadBuffer(line, x, CL_TRUE, 0, sizeof room, room, 0, NULL, NULL));
    long total = 0;
    for (int i = 0; i < 64; i++) total += room[i];
    clReleaseMemObject(x);
    clReleaseKernel(kernel);
    clReleaseProgram(program);
    clReleaseCommandQueue(line);
    return total;
}

static cl_program shared_program;
static cl_mem shared_buffer;

static void *work(void *number) {
    cl_int error, value = (int)(size_t)number;
    cl_command_queue line = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    MADE(error);
    cl_kernel kernel = kernel_of(shared_program, "add");
    ARGUMENT(kernel, 0, shared_buffer);
    ARGUMENT(kernel, 1, value);
    const size_t count = 640;
    for (int turn = 0; turn < TURNS; turn++) {
        DO(clEnqueueNDRangeKernel(line, kernel, 1, NULL, &count, NULL, 0, NULL, NULL));
        if (turn % 3 == 0) DO(clFinish(line));
    }
    DO(clFinish(line));
    clReleaseKernel(kernel);
    clReleaseCommandQueue(line);
    return NULL;
}

static void threads(void) {
    cl_int room[64] = {0};
    shared_program = build(SOURCE, "");
    shared_buffer = buffer_of(sizeof room, room);
    pthread_t running[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&running[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++) pthread_join(running[i], NULL);
    read_back(shared_buffer, room, sizeof room);
    for (int i = 0; i < 64; i++) is("of all threads", room[i], TURNS * 10 * (1 + 2 + 3 + 4));
}

static void parts_of_device(void) {
    cl_device_partition_property how[] = {CL_DEVICE_PARTITION_EQUALLY, 1, 0}, can[8] = {0};
    cl_uint count = 0, most;
    DO(clGetDeviceInfo(device, CL_DEVICE_PARTITION_MAX_SUB_DEVICES, sizeof most, &most, NULL));
    DO(clGetDeviceInfo(device, CL_DEVICE_PARTITION_PROPERTIES, sizeof can, can, NULL));
    if (can[0] == 0)
        is("cannot be parted", clCreateSubDevices(device, how, 0, NULL, &count) != CL_SUCCESS, 1);
    cl_device_id parent = device;
    DO(clGetDeviceInfo(device, CL_DEVICE_PARENT_DEVICE, sizeof parent, &parent, NULL));
    is("parent", parent == NULL, 1);
}

/* The program again, in a child that was forked before anything was opened. */
static int child_ends(void) {
    const pid_t child = fork();
    if (child == 0) {
        open_device();
        const long total = alone(context, 2);
        fflush(stdout);
        _exit(total == 1280 && !wrong_checks ? 7 : 8);
    }
    int code = 0;
    waitpid(child, &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

int main(void) {
    is("child", child_ends(), 7);
    open_device();
    cl_context first = context_of(), second = context_of();
    is("first", alone(first, 1), 640);
    is("second", alone(second, 3), 1920);
    is("first again", alone(first, 5), 3200);
    DO(clReleaseContext(first));
    is("second after the first", alone(second, 7), 4480);
    threads();
    parts_of_device();
    /* A child of a program whose device is open can do nothing with it but end. */
    int code = 0;
    const pid_t child = fork();
    if (child == 0) _exit(9);
    waitpid(child, &code, 0);
    is("child while the device is open", WEXITSTATUS(code), 9);
    is("after the child", alone(second, 9), 5760);
    return ended();
}
