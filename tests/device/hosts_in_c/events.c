/* Events: callbacks, the user's own, times, waiting lists, markers, barriers, several queues. */
#include <pthread.h>
#include <unistd.h>

#include "host.h"

static const char SOURCE[] =
    "kernel void advance(global int *x, int v) { x[get_global_id(0)] = x[get_global_id(0)] * 3 + v; }\n";

static volatile int told[4];

static void CL_CALLBACK tell(cl_event event, cl_int status, void *place) {
    (void)event;
    __atomic_store_n((volatile int *)place, status == CL_COMPLETE ? 1 : status, __ATOMIC_SEQ_CST);
}

static void wait_for(volatile int *place) {
    for (int i = 0; i < 60000 && !__atomic_load_n(place, __ATOMIC_SEQ_CST); i++) usleep(1000);
}

static cl_int state_of(cl_event event) {
    cl_int state;
    DO(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL));
    return state;
}

static void times(cl_kernel kernel, cl_mem x) {
    cl_ulong found[4];
    const cl_profiling_info what[] = {CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_SUBMIT,
                                      CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_END};
    const size_t one = 64;
    cl_ulong before = 0;
    cl_int room[64];
    for (int turn = 0; turn < 6; turn++) {
        cl_event event;
        if (turn % 2)
            DO(clEnqueueReadBuffer(queue, x, CL_FALSE, 0, sizeof room, room, 0, NULL, &event));
        else
            DO(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 0, NULL, &event));
        DO(clWaitForEvents(1, &event));
        for (int i = 0; i < 4; i++)
            DO(clGetEventProfilingInfo(event, what[i], sizeof *found, &found[i], NULL));
        for (int i = 1; i < 4; i++) is("times rise", found[i] >= found[i - 1], 1);
        is("commands do not overlap", found[2] >= before, 1);
        is("it takes time", found[3] > found[2] || turn % 2, 1);
        before = found[3];
        cl_command_type type;
        DO(clGetEventInfo(event, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL));
        is("type", type, turn % 2 ? CL_COMMAND_READ_BUFFER : CL_COMMAND_NDRANGE_KERNEL);
        clReleaseEvent(event);
    }
}

static void users(cl_kernel kernel) {
    cl_int error;
    cl_event own = clCreateUserEvent(context, &error), after, failed;
    MADE(error);
    is("state", state_of(own), CL_SUBMITTED);
    const size_t one = 64;
    DO(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, NULL, 1, &own, &after));
    DO(clSetEventCallback(after, CL_COMPLETE, tell, (void *)&told[0]));
    DO(clFlush(queue));
    usleep(20000);
    is("it waits", state_of(after) > CL_COMPLETE, 1);
    DO(clSetUserEventStatus(own, CL_COMPLETE));
    is("twice", clSetUserEventStatus(own, CL_COMPLETE), CL_INVALID_OPERATION);
    DO(clWaitForEvents(1, &after));
    wait_for(&told[0]);
    is("told", told[0], 1);
    clReleaseEvent(own);
    clReleaseEvent(after);
    /* What waits for an event that failed fails. */
    own = clCreateUserEvent(context, &error);
    MADE(error);
    cl_command_queue other = clCreateCommandQueueWithProperties(context, device, NULL, &error);
    MADE(error);
    DO(clEnqueueNDRangeKernel(other, kernel, 1, NULL, &one, NULL, 1, &own, &failed));
    DO(clSetEventCallback(failed, CL_COMPLETE, tell, (void *)&told[1]));
    DO(clSetUserEventStatus(own, -5));
    is("waiting for a failure", clWaitForEvents(1, &failed),
       CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
    is("failed", state_of(failed) < 0, 1);
    wait_for(&told[1]);
    is("told of failure", told[1] < 0, 1);
    clReleaseEvent(own);
    clReleaseEvent(failed);
    clReleaseCommandQueue(other);
}

/* A chain over two queues without order, crossed by a barrier and a marker. */
static void chains(cl_kernel kernel, cl_mem x) {
    const cl_queue_properties asked[] = {CL_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0};
    cl_command_queue queues[2];
    cl_int error;
    for (int i = 0; i < 2; i++) {
        queues[i] = clCreateCommandQueueWithProperties(context, device, asked, &error);
        MADE(error);
    }
    const size_t count = 64;
    const cl_int zero = 0;
    cl_event before, after;
    DO(clEnqueueFillBuffer(queues[0], x, &zero, 4, 0, 256, 0, NULL, &before));
    cl_int wanted = 0;
    for (cl_int i = 1; i <= 9; i++) {
        ARGUMENT(kernel, 1, i);
        DO(clEnqueueNDRangeKernel(queues[i % 2], kernel, 1, NULL, &count, NULL, 1, &before, &after));
        DO(clFlush(queues[i % 2]));
        clReleaseEvent(before);
        before = after;
        wanted = wanted * 3 + i;
    }
    DO(clEnqueueMarkerWithWaitList(queues[0], 1, &before, &after));
    DO(clEnqueueBarrierWithWaitList(queues[1], 1, &after, NULL));
    cl_int room[64];
    DO(clEnqueueReadBuffer(queues[1], x, CL_TRUE, 0, sizeof room, room, 0, NULL, NULL));
    for (int i = 0; i < 64; i++) is("chain", room[i], wanted);
    clReleaseEvent(before);
    clReleaseEvent(after);
    for (int i = 0; i < 2; i++) {
        DO(clFinish(queues[i]));
        DO(clReleaseCommandQueue(queues[i]));
    }
}

static void *complete_later(void *event) {
    usleep(30000);
    clSetUserEventStatus(event, CL_COMPLETE);
    return NULL;
}

/* A blocking read waits for an event that another thread completes. */
static void other_thread(cl_mem x) {
    cl_int error, room[4];
    cl_event own = clCreateUserEvent(context, &error);
    MADE(error);
    pthread_t thread;
    pthread_create(&thread, NULL, complete_later, own);
    DO(clEnqueueReadBuffer(queue, x, CL_TRUE, 0, sizeof room, room, 1, &own, NULL));
    is("after the other thread", state_of(own), CL_COMPLETE);
    pthread_join(thread, NULL);
    clReleaseEvent(own);
}

int main(void) {
    open_device();
    cl_kernel kernel = kernel_of(build(SOURCE, ""), "advance");
    cl_mem x = buffer_of(256, NULL);
    const cl_int one = 1;
    ARGUMENT(kernel, 0, x);
    ARGUMENT(kernel, 1, one);
    times(kernel, x);
    users(kernel);
    chains(kernel, x);
    other_thread(x);
    return ended();
}
