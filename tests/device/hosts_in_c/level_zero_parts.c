/* A Level Zero program of many small parts, with the kernels of `level_zero.cl` as SPIR-V.
 *
 * Reserved addresses, chains of events, times, the copy engine, several launches from memory,
 * cooperative launches, logs of builds, threads, and the codes of wrong calls.
 */
#include <pthread.h>

#include "level_zero.h"

enum { COUNT = 1024, BYTES = 4 * COUNT, FOR_EVER = -1 };

/* The log of a module that cannot be built. (For SPIR-V that is none Intel's compiler ends the program.) */
static void build_log(void) {
    uint8_t junk[64] = "no program";
    const ze_module_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                     .format = ZE_MODULE_FORMAT_NATIVE,
                                     .inputSize = sizeof junk, .pInputModule = junk};
    ze_module_handle_t module;
    ze_module_build_log_handle_t log = NULL;
    RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
            zeModuleCreate(context, device, &wanted, &module, &log));
    size_t length = 0;
    char text[4096];
    DO(zeModuleBuildLogGetString(log, &length, NULL));
    is("the log is short", length > 0 && length <= sizeof text, 1);
    DO(zeModuleBuildLogGetString(log, &length, text));
    is("the log ends", text[length - 1], 0);
    DO(zeModuleBuildLogDestroy(log));
}

static void wrong_calls(ze_module_handle_t module) {
    ze_kernel_handle_t step = kernel_of(module, "advance", 32);
    ze_event_handle_t event;
    ze_event_pool_handle_t pool = pool_of(1, &event);
    const ze_event_desc_t far = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 9};
    ze_event_handle_t other;
    void *place;
    int local = 0;
    const ze_host_mem_alloc_desc_t host = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeMemFree(context, &local));
    RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, zeMemAllocHost(context, &host, 1ull << 60, 64, &place));
    RETURNS(ZE_RESULT_ERROR_INVALID_ARGUMENT, zeEventCreate(pool, &far, &other));
    RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, zeKernelSetGroupSize(step, 64, 64, 64));
    RETURNS(ZE_RESULT_NOT_READY, zeEventHostSynchronize(event, 1000));
    DO(zeEventDestroy(event));
    DO(zeEventPoolDestroy(pool));
    DO(zeKernelDestroy(step));
}

/* Addresses that are reserved first and get memory later, twice different memory. */
static void reserved(ze_module_handle_t module) {
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_kernel_handle_t step = kernel_of(module, "advance", 32);
    size_t page;
    void *there;
    DO(zeVirtualMemQueryPageSize(context, device, BYTES, &page));
    DO(zeVirtualMemReserve(context, NULL, 2 * page, &there));
    ze_physical_mem_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC, .size = page};
    for (int turn = 0; turn < 2; turn++) {
        ze_physical_mem_handle_t memory_there;
        DO(zePhysicalMemCreate(context, device, &wanted, &memory_there));
        void *at = (char *)there + turn * page;
        DO(zeVirtualMemMap(context, at, page, memory_there, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE));
        const int pattern = 6 + turn, seven = 7;
        int found[COUNT];
        DO(zeCommandListAppendMemoryFill(list, at, &pattern, 4, BYTES, NULL, 0, NULL));
        ARGUMENT(step, 0, at);
        ARGUMENT(step, 1, seven);
        const ze_group_count_t groups = {COUNT / 32, 1, 1};
        DO(zeCommandListAppendLaunchKernel(list, step, &groups, NULL, 0, NULL));
        DO(zeCommandListAppendMemoryCopy(list, found, at, BYTES, NULL, 0, NULL));
        for (int i = 0; i < COUNT; i++) is("reserved", found[i], pattern * 10 + 7);
        DO(zeVirtualMemUnmap(context, at, page));
        DO(zePhysicalMemDestroy(context, memory_there));
    }
    DO(zeVirtualMemFree(context, there, 2 * page));
    DO(zeKernelDestroy(step));
    DO(zeCommandListDestroy(list));
}

/* Sixteen launches, each waiting for the one before, on two lists in turn. */
static void chain(ze_module_handle_t module) {
    enum { LINKS = 16 };
    ze_event_handle_t events[LINKS];
    ze_event_pool_handle_t pool = pool_of(LINKS, events);
    ze_command_list_handle_t lists[2] = {immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS),
                                         immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS)};
    ze_kernel_handle_t step = kernel_of(module, "advance", 32);
    int *x = memory(SHARED, BYTES);
    memset(x, 0, BYTES);
    const ze_group_count_t groups = {COUNT / 32, 1, 1};
    ARGUMENT(step, 0, x);
    for (int i = 0; i < LINKS; i++) {
        const int digit = i >= LINKS - 8 ? i - (LINKS - 8) + 1 : 0;
        ARGUMENT(step, 1, digit);
        DO(zeCommandListAppendLaunchKernel(lists[i % 2], step, &groups, events[i], i > 0,
                                           i ? &events[i - 1] : NULL));
    }
    DO(zeEventHostSynchronize(events[LINKS - 1], (uint64_t)FOR_EVER));
    for (int i = 0; i < COUNT; i++) is("chain", x[i], 12345678);
    for (int i = 0; i < LINKS; i++) DO(zeEventQueryStatus(events[i]));
    for (int i = 0; i < 2; i++) {
        DO(zeCommandListHostSynchronize(lists[i], (uint64_t)FOR_EVER));
        DO(zeCommandListDestroy(lists[i]));
    }
    for (int i = 0; i < LINKS; i++) DO(zeEventDestroy(events[i]));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(context, x));
    DO(zeKernelDestroy(step));
}

/* Events that a list resets, waits for and signals itself, and times that it writes. */
static void signals(ze_module_handle_t module) {
    ze_event_handle_t events[3];
    ze_event_pool_handle_t pool = pool_of(3, events);
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS);
    ze_kernel_handle_t count = kernel_of(module, "count", 8);
    uint64_t *stamps = memory(OF_HOST, 64), host, gpu;
    ze_kernel_timestamp_result_t *times = memory(OF_HOST, sizeof *times), same;
    int *total = memory(SHARED, 64);
    *total = 0;
    ARGUMENT(count, 0, total);
    const ze_group_count_t groups = {3, 2, 1};
    DO(zeEventHostSignal(events[0]));
    DO(zeCommandListAppendEventReset(list, events[0]));
    DO(zeCommandListAppendSignalEvent(list, events[1]));
    DO(zeCommandListAppendWaitOnEvents(list, 1, &events[1]));
    DO(zeCommandListAppendWriteGlobalTimestamp(list, &stamps[0], NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendLaunchKernel(list, count, &groups, events[2], 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendWriteGlobalTimestamp(list, &stamps[1], NULL, 0, NULL));
    DO(zeCommandListAppendQueryKernelTimestamps(list, 1, &events[2], times, NULL, NULL, 0, NULL));
    DO(zeCommandListHostSynchronize(list, (uint64_t)FOR_EVER));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[0]));
    DO(zeEventQueryStatus(events[1]));
    is("counted", *total, 48);
    is("stamps", stamps[1] > stamps[0], 1);
    DO(zeEventQueryKernelTimestamp(events[2], &same));
    is("times", times->global.kernelStart, same.global.kernelStart);
    is("times", times->global.kernelEnd, same.global.kernelEnd);
    DO(zeDeviceGetGlobalTimestamps(device, &host, &gpu));
    for (int i = 0; i < 3; i++) DO(zeEventDestroy(events[i]));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(context, stamps));
    DO(zeMemFree(context, times));
    DO(zeMemFree(context, total));
    DO(zeKernelDestroy(count));
    DO(zeCommandListDestroy(list));
}

/* Fills and copies by each group of engines that the device has. */
static void engines(void) {
    ze_command_queue_group_properties_t groups[8];
    const uint32_t count = engine_groups(groups, 8), kept = ordinal;
    uint8_t *from = memory(OF_HOST, BYTES), *there = memory(OF_DEVICE, BYTES), found[BYTES];
    for (ordinal = 0; ordinal < count; ordinal++) {
        if (!(groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY)) continue;
        ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
        const uint8_t pattern = (uint8_t)(17 + ordinal);
        for (int i = 0; i < BYTES; i++) from[i] = (uint8_t)(i * 5 + ordinal);
        DO(zeCommandListAppendMemoryFill(list, there, &pattern, 1, BYTES, NULL, 0, NULL));
        DO(zeCommandListAppendMemoryCopy(list, there + 3, from + 1, 1001, NULL, 0, NULL));
        DO(zeCommandListAppendMemoryCopy(list, found, there, BYTES, NULL, 0, NULL));
        for (int i = 0; i < BYTES; i++)
            is("copied", found[i],
               i >= 3 && i < 1004 ? (uint8_t)((i - 2) * 5 + ordinal) : pattern);
        DO(zeCommandListDestroy(list));
    }
    ordinal = kept;
    DO(zeMemFree(context, from));
    DO(zeMemFree(context, there));
}

/* Three launches of which a number in memory lets two run; all groups at a time; advice. */
static void launches(ze_module_handle_t module) {
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_kernel_handle_t count = kernel_of(module, "count", 16);
    int *total = memory(SHARED, 64);
    *total = 0;
    ARGUMENT(count, 0, total);
    const ze_group_count_t eight = {8, 1, 1};
    DO(zeCommandListAppendMemoryPrefetch(list, total, 64));
    DO(zeCommandListAppendMemAdvise(list, device, total, 64, ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION));
    DO(zeCommandListAppendLaunchCooperativeKernel(list, count, &eight, NULL, 0, NULL));
    is("cooperative", *total, 128);
    ze_kernel_properties_t what = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    DO(zeKernelGetProperties(count, &what));
    is("arguments", what.numKernelArgs, 1);
    char name[32];
    size_t size = sizeof name;
    DO(zeKernelGetName(count, &size, name));
    is("name", strcmp(name, "count"), 0);
    uint32_t names = 0;
    DO(zeModuleGetKernelNames(module, &names, NULL));
    is("kernels", names >= 5, 1);
    DO(zeMemFree(context, total));
    DO(zeKernelDestroy(count));
    DO(zeCommandListDestroy(list));
}

static void *counts(void *given) {
    ze_module_handle_t module = given;
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_kernel_handle_t count = kernel_of(module, "count", 16);
    int *total = memory(SHARED, 64);
    *total = 0;
    ARGUMENT(count, 0, total);
    const ze_group_count_t four = {4, 1, 1};
    for (int i = 0; i < 20; i++)
        DO(zeCommandListAppendLaunchKernel(list, count, &four, NULL, 0, NULL));
    const long sum = *total;
    DO(zeMemFree(context, total));
    DO(zeKernelDestroy(count));
    DO(zeCommandListDestroy(list));
    return (void *)sum;
}

static void threads(ze_module_handle_t module) {
    pthread_t running[3];
    for (int i = 0; i < 3; i++) pthread_create(&running[i], NULL, counts, module);
    for (int i = 0; i < 3; i++) {
        void *sum;
        pthread_join(running[i], &sum);
        is("sum of a thread", (long)sum, 20 * 64);
    }
}

int main(int count, char **words) {
    if (count < 2) {
        printf("usage: %s MODULE.spv\n", words[0]);
        return 2;
    }
    open_device();
    ze_module_handle_t module = module_of(words[1], ZE_MODULE_FORMAT_IL_SPIRV);
    build_log();
    wrong_calls(module);
    reserved(module);
    chain(module);
    signals(module);
    engines();
    launches(module);
    threads(module);
    DO(zeModuleDestroy(module));
    DO(zeContextDestroy(context));
    printf(wrong_checks ? "%d checks failed\n" : "all right\n", wrong_checks);
    return wrong_checks ? 1 : 0;
}
