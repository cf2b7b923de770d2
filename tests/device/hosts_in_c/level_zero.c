/* A Level Zero program: lists of commands, events, fences, modules, memory of all kinds, images.
 *
 * Its words are the files of one program for the device, `level_zero.cl`: as SPIR-V, and as a native
 * binary; and the SPIR-V of `pictures.cl` for devices that have images.
 */
#include <level_zero/ze_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong_checks;
static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static uint32_t ordinal;

#define DO(call)                                                                          \
    do {                                                                                  \
        const ze_result_t result_ = (call);                                               \
        if (result_ != ZE_RESULT_SUCCESS) {                                               \
            printf("line %d: %s returned 0x%x\n", __LINE__, #call, (unsigned)result_);    \
            exit(2);                                                                      \
        }                                                                                 \
    } while (0)
#define RETURNS(code, call) is(#call, (call), (code))

static void is(const char *name, long long found, long long wanted) {
    if (found == wanted) return;
    printf("%s: %lld, wanted %lld\n", name, found, wanted);
    wrong_checks++;
}

static void open_device(void) {
    uint32_t count = 1;
    DO(zeInit(0));
    DO(zeDriverGet(&count, &driver));
    count = 1;
    DO(zeDeviceGet(driver, &count, &device));
    const ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    DO(zeContextCreate(driver, &of_context, &context));
    ze_command_queue_group_properties_t groups[8];
    uint32_t group_count = 8;
    for (int i = 0; i < 8; i++)
        groups[i] = (ze_command_queue_group_properties_t){
            .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES};
    DO(zeDeviceGetCommandQueueGroupProperties(device, &group_count, groups));
    for (ordinal = 0; ordinal < group_count; ordinal++)
        if (groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) return;
    printf("no engine for kernels\n");
    exit(2);
}

static ze_module_handle_t module_of(const char *path, ze_module_format_t format) {
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

static ze_kernel_handle_t kernel_of(ze_module_handle_t module, const char *name, uint32_t group) {
    const ze_kernel_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t kernel;
    DO(zeKernelCreate(module, &wanted, &kernel));
    DO(zeKernelSetGroupSize(kernel, group, 1, 1));
    return kernel;
}

enum kind { OF_HOST, OF_DEVICE, SHARED };

static void *memory(enum kind kind, size_t size) {
    const ze_device_mem_alloc_desc_t device_memory = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    const ze_host_mem_alloc_desc_t host_memory = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *made;
    if (kind == OF_HOST) DO(zeMemAllocHost(context, &host_memory, size, 64, &made));
    if (kind == OF_DEVICE) DO(zeMemAllocDevice(context, &device_memory, size, 64, device, &made));
    if (kind == SHARED)
        DO(zeMemAllocShared(context, &device_memory, &host_memory, size, 64, device, &made));
    return made;
}

static ze_command_list_handle_t immediate(ze_command_queue_mode_t mode) {
    const ze_command_queue_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                            .ordinal = ordinal, .mode = mode};
    ze_command_list_handle_t list;
    DO(zeCommandListCreateImmediate(context, device, &wanted, &list));
    return list;
}

static ze_command_list_handle_t regular(void) {
    const ze_command_list_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
                                           .commandQueueGroupOrdinal = ordinal};
    ze_command_list_handle_t list;
    DO(zeCommandListCreate(context, device, &wanted, &list));
    return list;
}

static ze_command_queue_handle_t line(void) {
    const ze_command_queue_desc_t wanted = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
                                            .ordinal = ordinal,
                                            .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_queue_handle_t queue;
    DO(zeCommandQueueCreate(context, device, &wanted, &queue));
    return queue;
}

static ze_event_pool_handle_t pool_of(uint32_t count, ze_event_handle_t *events) {
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

/* An immediate list: fill, two kernels that wait for each other by events, and times. */
static void at_once(ze_module_handle_t module, ze_command_queue_mode_t mode) {
    ze_event_handle_t events[4];
    ze_event_pool_handle_t pool = pool_of(4, events);
    ze_command_list_handle_t list = immediate(mode);
    ze_kernel_handle_t step = kernel_of(module, "advance", 32);
    int *x = memory(SHARED, 4096);
    const int pattern = 3, two = 2, three = 3;
    const ze_group_count_t groups = {32, 1, 1};
    DO(zeCommandListAppendMemoryFill(list, x, &pattern, 4, 4096, events[0], 0, NULL));
    ARGUMENT(step, 0, x);
    ARGUMENT(step, 1, two);
    DO(zeCommandListAppendLaunchKernel(list, step, &groups, events[1], 1, &events[0]));
    ARGUMENT(step, 1, three);
    DO(zeCommandListAppendLaunchKernel(list, step, &groups, events[2], 1, &events[1]));
    DO(zeEventHostSynchronize(events[2], UINT64_MAX));
    for (int i = 0; i < 1024; i++) is("steps", x[i], (3 * 10 + 2) * 10 + 3);
    ze_kernel_timestamp_result_t first, second;
    DO(zeEventQueryKernelTimestamp(events[1], &first));
    DO(zeEventQueryKernelTimestamp(events[2], &second));
    is("it takes time", first.global.kernelEnd > first.global.kernelStart, 1);
    is("one after another", second.global.kernelStart >= first.global.kernelEnd, 1);
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[3]));
    DO(zeEventHostReset(events[2]));
    RETURNS(ZE_RESULT_NOT_READY, zeEventQueryStatus(events[2]));
    for (int i = 0; i < 4; i++) DO(zeEventDestroy(events[i]));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(context, x));
    DO(zeKernelDestroy(step));
    DO(zeCommandListDestroy(list));
}

/* A regular list that is executed twice, with a barrier, copies, and a fence. */
static void prepared(ze_module_handle_t module) {
    ze_command_list_handle_t list = regular();
    ze_command_queue_handle_t queue = line();
    ze_fence_handle_t fence;
    const ze_fence_desc_t of_fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    DO(zeFenceCreate(queue, &of_fence, &fence));
    ze_kernel_handle_t step = kernel_of(module, "advance", 64);
    int *host = memory(OF_HOST, 4096), *there = memory(OF_DEVICE, 4096);
    for (int i = 0; i < 1024; i++) host[i] = i;
    const int one = 1;
    const ze_group_count_t groups = {16, 1, 1};
    ARGUMENT(step, 0, there);
    ARGUMENT(step, 1, one);
    DO(zeCommandListAppendMemoryCopy(list, there, host, 4096, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendLaunchKernel(list, step, &groups, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopy(list, host, there, 4096, NULL, 0, NULL));
    DO(zeCommandListClose(list));
    for (int turn = 0; turn < 2; turn++) {
        DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, fence));
        DO(zeFenceHostSynchronize(fence, UINT64_MAX));
        DO(zeFenceReset(fence));
    }
    for (int i = 0; i < 1024; i++) is("twice", host[i], 100 * i + 11);
    DO(zeCommandListReset(list));
    /* A box of 5 x 3 of bytes, with pitches. */
    uint8_t *bytes = (uint8_t *)host;
    for (int i = 0; i < 4096; i++) bytes[i] = (uint8_t)(i * 7);
    const ze_copy_region_t to = {2, 1, 0, 5, 3, 0}, from = {4, 2, 0, 5, 3, 0};
    const uint8_t nothing = 0xEE;
    DO(zeCommandListAppendMemoryFill(list, there, &nothing, 1, 4096, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopyRegion(list, there, &to, 40, 0, host, &from, 24, 0, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendMemoryCopy(list, bytes + 2048, there, 400, NULL, 0, NULL));
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 10; x++) {
            const int inside = x >= 2 && x < 7 && y >= 1 && y < 4;
            is("box", bytes[2048 + 40 * y + x],
               inside ? (uint8_t)(7 * (24 * (y + 1) + x + 2)) : nothing);
        }
    DO(zeFenceDestroy(fence));
    DO(zeMemFree(context, host));
    DO(zeMemFree(context, there));
    DO(zeKernelDestroy(step));
    DO(zeCommandListDestroy(list));
    DO(zeCommandQueueDestroy(queue));
}

/* Group counts that a kernel leaves in memory, several of them, and events that the host signals. */
static void from_memory(ze_module_handle_t module) {
    ze_event_handle_t go;
    ze_event_pool_handle_t pool = pool_of(1, &go);
    ze_command_list_handle_t list = regular();
    ze_command_queue_handle_t queue = line();
    ze_kernel_handle_t count = kernel_of(module, "count", 16), plan = kernel_of(module, "plan", 1);
    int *total = memory(SHARED, 64);
    ze_group_count_t *groups = memory(SHARED, 64);
    *total = 0;
    memset(groups, 0, 64);
    ARGUMENT(plan, 0, groups);
    ARGUMENT(count, 0, total);
    const ze_group_count_t single = {1, 1, 1};
    DO(zeCommandListAppendWaitOnEvents(list, 1, &go));
    DO(zeCommandListAppendLaunchKernel(list, plan, &single, NULL, 0, NULL));
    DO(zeCommandListAppendBarrier(list, NULL, 0, NULL));
    DO(zeCommandListAppendLaunchKernelIndirect(list, count, groups, NULL, 0, NULL));
    DO(zeCommandListClose(list));
    DO(zeCommandQueueExecuteCommandLists(queue, 1, &list, NULL));
    RETURNS(ZE_RESULT_NOT_READY, zeCommandQueueSynchronize(queue, 20 * 1000 * 1000));
    DO(zeEventHostSignal(go));
    DO(zeCommandQueueSynchronize(queue, UINT64_MAX));
    is("groups from memory", *total, 16 * 3 * 2);
    DO(zeEventDestroy(go));
    DO(zeEventPoolDestroy(pool));
    DO(zeMemFree(context, total));
    DO(zeMemFree(context, groups));
    DO(zeKernelDestroy(count));
    DO(zeKernelDestroy(plan));
    DO(zeCommandListDestroy(list));
    DO(zeCommandQueueDestroy(queue));
}

/* Local memory, pointers in memory, variables of the module, and what pointers are. */
static void memories(ze_module_handle_t module) {
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_kernel_handle_t turn = kernel_of(module, "turn", 32), follow = kernel_of(module, "follow", 64);
    int *x = memory(SHARED, 256 * 4), *hidden = memory(OF_HOST, 256 * 4);
    int **table = memory(OF_DEVICE, 64);
    for (int i = 0; i < 256; i++) x[i] = i, hidden[i] = 5 * i;
    ARGUMENT(turn, 0, x);
    DO(zeKernelSetArgumentValue(turn, 1, 32 * 4, NULL));
    const ze_group_count_t eight = {8, 1, 1}, four = {4, 1, 1};
    DO(zeCommandListAppendLaunchKernel(list, turn, &eight, NULL, 0, NULL));
    for (int i = 0; i < 256; i++) is("turned", x[i], i / 32 * 32 + 31 - i % 32);
    DO(zeCommandListAppendMemoryCopy(list, table, &hidden, sizeof hidden, NULL, 0, NULL));
    DO(zeKernelSetIndirectAccess(follow, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
    ARGUMENT(follow, 0, table);
    DO(zeCommandListAppendLaunchKernel(list, follow, &four, NULL, 0, NULL));
    for (int i = 0; i < 256; i++) is("followed", hidden[i], 5 * i + 1);
    void *variable;
    size_t size;
    int value = 0;
    DO(zeModuleGetGlobalPointer(module, "counter", &size, &variable));
    is("size of a variable", (long long)size, 4);
    DO(zeCommandListAppendMemoryCopy(list, &value, variable, 4, NULL, 0, NULL));
    is("variable", value, 77);
    ze_memory_allocation_properties_t what = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    DO(zeMemGetAllocProperties(context, (char *)table + 8, &what, NULL));
    is("kind", what.type, ZE_MEMORY_TYPE_DEVICE);
    DO(zeMemGetAllocProperties(context, x, &what, NULL));
    is("kind", what.type, ZE_MEMORY_TYPE_SHARED);
    void *base;
    DO(zeMemGetAddressRange(context, (char *)hidden + 100, &base, &size));
    is("base", base == hidden, 1);
    DO(zeMemFree(context, x));
    DO(zeMemFree(context, hidden));
    DO(zeMemFree(context, table));
    DO(zeKernelDestroy(turn));
    DO(zeKernelDestroy(follow));
    DO(zeCommandListDestroy(list));
}

static void misuse(ze_module_handle_t module) {
    const ze_kernel_desc_t nothing = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = "nothing"};
    ze_kernel_handle_t kernel, step = kernel_of(module, "advance", 32);
    ze_module_handle_t made;
    void *place;
    uint8_t junk[64] = "no program";
    ze_module_desc_t of_junk = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_NATIVE,
                                .inputSize = sizeof junk, .pInputModule = junk};
    const ze_device_mem_alloc_desc_t flat = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    RETURNS(ZE_RESULT_ERROR_INVALID_KERNEL_NAME, zeKernelCreate(module, &nothing, &kernel));
    RETURNS(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION, zeKernelSetGroupSize(step, 1 << 20, 1, 1));
    RETURNS(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE,
            zeModuleCreate(context, device, &of_junk, &made, NULL));
    RETURNS(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
            zeMemAllocDevice(context, &flat, (size_t)1 << 50, 64, device, &place));
    uint32_t x, y, z;
    DO(zeKernelSuggestGroupSize(step, 1024, 1, 1, &x, &y, &z));
    is("suggested", x > 0 && 1024 % x == 0 && y == 1 && z == 1, 1);
    DO(zeKernelDestroy(step));
}

static void picture(ze_module_handle_t module) {
    enum { W = 12, H = 6 };
    const ze_image_desc_t wanted = {
        .stype = ZE_STRUCTURE_TYPE_IMAGE_DESC, .type = ZE_IMAGE_TYPE_2D,
        .flags = ZE_IMAGE_FLAG_KERNEL_WRITE,
        .format = {ZE_IMAGE_FORMAT_LAYOUT_8_8_8_8, ZE_IMAGE_FORMAT_TYPE_UINT, ZE_IMAGE_FORMAT_SWIZZLE_R,
                   ZE_IMAGE_FORMAT_SWIZZLE_G, ZE_IMAGE_FORMAT_SWIZZLE_B, ZE_IMAGE_FORMAT_SWIZZLE_A},
        .width = W, .height = H, .depth = 1};
    ze_image_handle_t from, to;
    DO(zeImageCreate(context, device, &wanted, &from));
    DO(zeImageCreate(context, device, &wanted, &to));
    ze_command_list_handle_t list = immediate(ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    ze_kernel_handle_t turn = kernel_of(module, "upside_down", W);
    const ze_sampler_desc_t of_sampler = {.stype = ZE_STRUCTURE_TYPE_SAMPLER_DESC,
                                          .addressMode = ZE_SAMPLER_ADDRESS_MODE_CLAMP,
                                          .filterMode = ZE_SAMPLER_FILTER_MODE_NEAREST};
    ze_sampler_handle_t how;
    DO(zeSamplerCreate(context, device, &of_sampler, &how));
    uint8_t texels[H * W * 4], found[H * W * 4];
    for (int i = 0; i < H * W * 4; i++) texels[i] = (uint8_t)(i * 3);
    DO(zeCommandListAppendImageCopyFromMemory(list, from, texels, NULL, NULL, 0, NULL));
    ARGUMENT(turn, 0, from);
    ARGUMENT(turn, 1, to);
    ARGUMENT(turn, 2, how);
    const ze_group_count_t groups = {1, H, 1};
    DO(zeCommandListAppendLaunchKernel(list, turn, &groups, NULL, 0, NULL));
    DO(zeCommandListAppendImageCopyToMemory(list, found, to, NULL, NULL, 0, NULL));
    for (int i = 0; i < H * W; i++)
        for (int c = 0; c < 4; c++) is("turned", found[4 * i + c], texels[4 * (H * W - 1 - i) + c]);
    DO(zeSamplerDestroy(how));
    DO(zeImageDestroy(from));
    DO(zeImageDestroy(to));
    DO(zeKernelDestroy(turn));
    DO(zeCommandListDestroy(list));
}

int main(int count, char **words) {
    if (count < 3) {
        printf("usage: %s MODULE.spv MODULE.zebin [PICTURES.spv]\n", words[0]);
        return 2;
    }
    open_device();
    ze_module_handle_t modules[2] = {module_of(words[1], ZE_MODULE_FORMAT_IL_SPIRV),
                                     module_of(words[2], ZE_MODULE_FORMAT_NATIVE)};
    for (int i = 0; i < 2; i++) {
        at_once(modules[i], i ? ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS : ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
        prepared(modules[i]);
        from_memory(modules[i]);
        memories(modules[i]);
        misuse(modules[i]);
        DO(zeModuleDestroy(modules[i]));
    }
    if (count > 3) {
        ze_module_handle_t of_images = module_of(words[3], ZE_MODULE_FORMAT_IL_SPIRV);
        picture(of_images);
        DO(zeModuleDestroy(of_images));
    }
    DO(zeContextDestroy(context));
    printf(wrong_checks ? "%d checks failed\n" : "all right\n", wrong_checks);
    return wrong_checks ? 1 : 0;
}
