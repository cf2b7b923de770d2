/* A Level Zero program: lists of commands, events, fences, modules, memory of all kinds, images.
 *
 * Its words are the files of one program for the device, `level_zero.cl`: as SPIR-V, and as a native
 * binary; and the SPIR-V of `pictures.cl` for devices that have images.
 */
#include "level_zero.h"

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
