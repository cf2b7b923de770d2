/* Shared virtual memory: copies, fills, maps, pointers in memory, and freeing in a queue. */
#include "host.h"

static const char SOURCE[] =
    "struct node { int value; global struct node *next; };\n"
    "kernel void sum(global struct node *first, global int *out) {\n"
    "    int total = 0;\n"
    "    for (global struct node *one = first; one; one = one->next) total += one->value;\n"
    "    *out = total;\n"
    "}\n"
    "kernel void twice(global int *x) { x[get_global_id(0)] *= 2; }\n"
    "kernel void inside(global int *global *pointers, int n) {\n"
    "    for (int i = 0; i < n; i++) pointers[i][get_global_id(0)] += i + 1;\n"
    "}\n";

struct node {
    cl_int value;
    struct node *next;
};

enum { NODES = 50, COUNT = 1000 };
static int freed;

static void CL_CALLBACK free_all(cl_command_queue of, cl_uint count, void *pointers[], void *data) {
    (void)of;
    for (cl_uint i = 0; i < count; i++) clSVMFree(data, pointers[i]);
    freed += (int)count;
}

static void list(cl_program program) {
    cl_kernel kernel = kernel_of(program, "sum");
    struct node *nodes = clSVMAlloc(context, CL_MEM_READ_WRITE, NODES * sizeof *nodes, 0);
    cl_int *out = clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof *out, 64);
    is("alignment", (long long)((size_t)out % 64), 0);
    DO(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, nodes, NODES * sizeof *nodes, 0, NULL, NULL));
    for (int i = 0; i < NODES; i++) {
        nodes[i].value = i * i;
        nodes[i].next = i + 1 < NODES ? &nodes[(i + 1) * 7 % NODES] : NULL;
    }
    /* Steps of 7 modulo 50 reach every node once. */
    int wanted = 0, at = 0;
    for (int i = 0; i < NODES; i++) {
        nodes[at].next = i + 1 < NODES ? &nodes[(at + 7) % NODES] : NULL;
        wanted += nodes[at].value;
        at = (at + 7) % NODES;
    }
    DO(clEnqueueSVMUnmap(queue, nodes, 0, NULL, NULL));
    DO(clSetKernelArgSVMPointer(kernel, 0, nodes));
    DO(clSetKernelArgSVMPointer(kernel, 1, out));
    run(kernel, 1, 0);
    DO(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, out, sizeof *out, 0, NULL, NULL));
    is("sum of a list", *out, wanted);
    DO(clEnqueueSVMUnmap(queue, out, 0, NULL, NULL));
    void *both[] = {nodes, out};
    DO(clEnqueueSVMFree(queue, 2, both, free_all, context, 0, NULL, NULL));
    DO(clFinish(queue));
    is("freed", freed, 2);
    clReleaseKernel(kernel);
}

static void moves(cl_program program) {
    cl_kernel kernel = kernel_of(program, "twice");
    cl_int *a = clSVMAlloc(context, CL_MEM_READ_WRITE, COUNT * 4, 0);
    cl_int *b = clSVMAlloc(context, CL_MEM_READ_WRITE, COUNT * 4, 0);
    const cl_int pattern[2] = {5, -6};
    cl_int host[COUNT];
    DO(clEnqueueSVMMemFill(queue, a, pattern, sizeof pattern, COUNT * 4, 0, NULL, NULL));
    DO(clSetKernelArgSVMPointer(kernel, 0, a + 1));
    run(kernel, COUNT - 1, 0);
    DO(clEnqueueSVMMemcpy(queue, CL_FALSE, b, a, COUNT * 4, 0, NULL, NULL));
    DO(clEnqueueSVMMemcpy(queue, CL_TRUE, host, b, COUNT * 4, 0, NULL, NULL));
    is("first", host[0], 5);
    for (int i = 1; i < COUNT; i++) is("moved", host[i], i % 2 ? -12 : 10);
    const void *given[] = {b};
    const size_t sizes[] = {0};
    DO(clEnqueueSVMMigrateMem(queue, 1, given, sizes, CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL));
    DO(clFinish(queue));
    clSVMFree(context, a);
    clSVMFree(context, b);
    clReleaseKernel(kernel);
}

static void hidden(cl_program program) {
    cl_kernel kernel = kernel_of(program, "inside");
    enum { PARTS = 6 };
    cl_int **table = clSVMAlloc(context, CL_MEM_READ_WRITE, PARTS * sizeof *table, 0);
    cl_int *parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        parts[i] = clSVMAlloc(context, CL_MEM_READ_WRITE, 256 * 4, 0);
        const cl_int start = 100 * i;
        DO(clEnqueueSVMMemFill(queue, parts[i], &start, 4, 1024, 0, NULL, NULL));
    }
    DO(clEnqueueSVMMemcpy(queue, CL_TRUE, table, parts, sizeof parts, 0, NULL, NULL));
    DO(clSetKernelArgSVMPointer(kernel, 0, table));
    const cl_int count = PARTS;
    ARGUMENT(kernel, 1, count);
    DO(clSetKernelExecInfo(kernel, CL_KERNEL_EXEC_INFO_SVM_PTRS, sizeof parts, parts));
    run(kernel, 256, 64);
    for (int i = 0; i < PARTS; i++) {
        cl_int host[256];
        DO(clEnqueueSVMMemcpy(queue, CL_TRUE, host, parts[i], 1024, 0, NULL, NULL));
        for (int k = 0; k < 256; k++) is("behind a pointer", host[k], 101 * i + 1);
        clSVMFree(context, parts[i]);
    }
    clSVMFree(context, table);
    clReleaseKernel(kernel);
}

int main(void) {
    open_device();
    cl_device_svm_capabilities able = 0;
    clGetDeviceInfo(device, CL_DEVICE_SVM_CAPABILITIES, sizeof able, &able, NULL);
    if (!(able & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER)) {
        printf("no shared virtual memory\n");
        return 0;
    }
    cl_program program = build(SOURCE, "-cl-std=CL2.0");
    list(program);
    moves(program);
    hidden(program);
    if (able & CL_DEVICE_SVM_FINE_GRAIN_BUFFER) {
        cl_kernel kernel = kernel_of(program, "twice");
        cl_int *x = clSVMAlloc(context, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER, 400, 0);
        for (int i = 0; i < 100; i++) x[i] = i;
        DO(clSetKernelArgSVMPointer(kernel, 0, x));
        run(kernel, 100, 0);
        DO(clFinish(queue));
        for (int i = 0; i < 100; i++) is("in place", x[i], 2 * i);
        clSVMFree(context, x);
    }
    return ended();
}
