/* What the programs of Level Zero share: a device, modules, memory, lists, events. */
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong_checks;
static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static uint32_t ordinal;

/* Of version 1.6; Debian 12 has the headers of 1.4, the driver brings a newer loader. */
ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);

#define DO(call)                                                                          \
    do {                                                                                  \
        const ze_result_t result_ = (call);                                               \
        if (result_ != ZE_RESULT_SUCCESS) {                                               \
            printf("line %d: %s returned 0x%x\n", __LINE__, #call, (unsigned)result_);    \
            exit(2);                                                                      \
        }                                                                                 \
    } while (0)
#define RETURNS(code, call) is(#call, (call), (code))

static inline void is(const char *name, long long found, long long wanted) {
    if (found == wanted) return;
    printf("%s: %lld, wanted %lld\n", name, found, wanted);
    wrong_checks++;
}

/* The groups of engines that the device has, at most `room` of them; returns how many. */
static inline uint32_t engine_groups(ze_command_queue_group_properties_t *groups, uint32_t room) {
    for (uint32_t i = 0; i < room; i++)
        groups[i] = (ze_command_queue_group_properties_t){
            .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    DO(zeDeviceGetCommandQueueGroupProperties(device, &room, groups));
    return room;
}

static inline void open_device(void) {
    uint32_t count = 1;
    DO(zeInit(0));
    DO(zeDriverGet(&count, &driver));
    count = 1;
    DO(zeDeviceGet(driver, &count, &device));
    const ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    DO(zeContextCreate(driver, &of_context, &context));
    ze_command_queue_group_properties_t groups[8];
    const uint32_t group_count = engine_groups(groups, 8);
    for (ordinal = 0; ordinal < group_count; ordinal++)
        if (groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) return;
    printf("no engine for kernels\n");
    exit(2);
}

static inline ze_module_handle_t module_of(const char *path, ze_module_format_t format) {
    FILE *file = fopen(path, "rb");
    static uint8_t room[1 << 20];
    if (!file) {
        printf("no file %s\n", path);
        exit(2);
    }
    const size_t size = fread(room, 1, sizeof room, file);
    fclose(file);
    const ze_module_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = format,
                                     .inputSize = size, .pInputModule = room, .pBuildFlags = ""};
    ze_module_handle_t module;
    ze_module_build_log_handle_t log;
    DO(zeModuleCreate(context, device, &wanted, &module, &log));
    DO(zeModuleBuildLogDestroy(log));
    return module;
}

static inline ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name, uint32_t group) {
    const ze_kernel_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    DO(zeKernelCreate(module, &wanted, &kernel));
    DO(zeKernelSetGroupSize(kernel, group, 1, 1));
    return kernel;
}

enum kind { OF_HOST, OF_DEVICE, SHARED };

static inline void *memory(enum kind kind, size_t size) {
    const ze_device_mem_alloc_desc_t device_memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    const ze_host_mem_alloc_desc_t host_memory = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *made;
    if (kind == OF_HOST) DO(zeMemAllocHost(context, &host_memory, size, 64, &made));
    if (kind == OF_DEVICE) DO(zeMemAllocDevice(context, &device_memory, size, 64, device, &made));
    if (kind == SHARED)
        DO(zeMemAllocShared(context, &device_memory, &host_memory, size, 64, device, &made));
    return made;
}

static inline ze_command_list_handle_t immediate(ze_command_queue_mode_t mode) {
    const ze_command_queue_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                            .ordinal = ordinal, .mode = mode};
    ze_command_list_handle_t list;
    DO(zeCommandListCreateImmediate(context, device, &wanted, &list));
    return list;
}

static inline ze_command_list_handle_t regular(void) {
    const ze_command_list_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                           .commandQueueGroupOrdinal = ordinal};
    ze_command_list_handle_t list;
    DO(zeCommandListCreate(context, device, &wanted, &list));
    return list;
}

static inline ze_command_queue_handle_t line(void) {
    const ze_command_queue_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                            .ordinal = ordinal,
                                            .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_queue_handle_t queue;
    DO(zeCommandQueueCreate(context, device, &wanted, &queue));
    return queue;
}

static inline ze_event_pool_handle_t pool_of(uint32_t count, ze_event_handle_t *events) {
    const ze_event_pool_desc_t wanted = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .count = count,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE | ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP};
    ze_event_pool_handle_t pool;
    DO(zeEventPoolCreate(context, &wanted, 1, &device, &pool));
    for (uint32_t i = 0; i < count; i++) {
        const ze_event_desc_t one = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = i,
                                     .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                                     .wait = ZE_EVENT_SCOPE_FLAG_HOST};
        DO(zeEventCreate(pool, &one, &events[i]));
    }
    return pool;
}

#define ARGUMENT(kernel, index, value) DO(zeKernelSetArgumentValue(kernel, index, sizeof(value), &(value)))
