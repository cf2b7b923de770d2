/* Answers to i915's GETPARAM and QUERY: what a driver learns of the device, from its model. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "i915.h"

enum {
    SCHEDULER_AND_PREEMPTION = 1 | 1 << 2,
    LARGEST_ANSWER = 4096,
    MOST_QUERIES = 64,
    FIRST_IP_WITH_HWCONFIG = 1255
};

struct answer {
    uint8_t bytes[LARGEST_ANSWER];
    size_t size;
};

static void put(struct answer *answer, const void *data, size_t size) {
    memcpy(answer->bytes + answer->size, data, size);
    answer->size += size;
}

/* How many bits are set, and which is the last one, counted from 1. */
static int bits_in(const uint8_t mask[MASK_BYTES], int *end) {
    int count = 0;
    *end = 0;
    for (int i = 0; i < MASK_BYTES * 8; i++) {
        if (!(mask[i / 8] >> i % 8 & 1)) continue;
        count++;
        *end = i + 1;
    }
    return count;
}

/* Drivers for i915 know one copy engine of each GPU: Linux tells them of no others. */
static bool is_shown(struct i915_class_instance engine) {
    return engine.class_ != ENGINE_COPY || engine.instance == 0;
}

bool has_engine(const struct model *model, struct i915_class_instance engine) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->engine_count; i++) count += model->engines[i] == engine.class_;
    return engine.instance < count && is_shown(engine);
}

static int param_of(const struct model *model, int32_t param, int32_t *value) {
    int end;
    const int subslices = bits_in(model->compute, &end);
    switch (param) {
        case PARAM_CHIPSET: *value = (int32_t)model->device_id; return 0;
        case PARAM_REVISION: *value = (int32_t)model->revision; return 0;
        case PARAM_SUBSLICES: *value = subslices; return 0;
        case PARAM_EUS: *value = subslices * bits_in(model->eu, &end); return 0;
        case PARAM_TIMESTAMP_HZ: *value = (int32_t)model->clock_hz; return 0;
        case PARAM_SCHEDULER: *value = SCHEDULER_AND_PREEMPTION; return 0;
        case PARAM_HAS_LLC: *value = model->vram_bytes == 0; return 0;
        case PARAM_HAS_EXECBUFFER2:
        case PARAM_HAS_WAIT_TIMEOUT:
        case PARAM_HAS_NO_RELOCATIONS:
        case PARAM_HAS_RESET:
        case PARAM_HAS_SOFTPIN:
        case PARAM_HAS_EXEC_ASYNC:
        case PARAM_HAS_EXEC_CAPTURE:
        case PARAM_HAS_BATCH_FIRST:
        case PARAM_HAS_CONTEXT_ISOLATION: *value = 1; return 0;
        case PARAM_HAS_POOLED_EU:
        case PARAM_MIN_EU_IN_POOL: return -ENODEV;
        default: return -EINVAL;
    }
}

int get_param(const struct model *model, const struct i915_getparam *request) {
    int32_t value;
    const int result = param_of(model, request->param, &value);
    return result ? result : copy_to_program(request->value, &value, sizeof value);
}

/* One slice has all subslices, as i915 says it of GPUs since Xe-HP; Tiger Lake has one anyway. */
static void put_topology(struct answer *answer, const struct model *model) {
    int subslices, eus;
    const uint8_t slices = 1;
    bits_in(model->compute, &subslices);
    bits_in(model->eu, &eus);
    const size_t stride = (size_t)(subslices + 7) / 8, eu_stride = (size_t)(eus + 7) / 8;
    const struct i915_topology head = {.slices = 1,
                                       .subslices = (uint16_t)subslices,
                                       .eus = (uint16_t)eus,
                                       .subslice_offset = sizeof slices,
                                       .subslice_stride = (uint16_t)stride,
                                       .eu_offset = (uint16_t)(sizeof slices + stride),
                                       .eu_stride = (uint16_t)eu_stride};
    static const uint8_t none[MASK_BYTES];
    put(answer, &head, sizeof head);
    put(answer, &slices, sizeof slices);
    put(answer, model->compute, stride);
    for (int i = 0; i < subslices; i++) {
        const bool is_there = model->compute[i / 8] >> i % 8 & 1;
        put(answer, is_there ? model->eu : none, eu_stride);
    }
}

static void put_engines(struct answer *answer, const struct model *model) {
    struct i915_engine shown[MOST_ENGINES] = {0};
    struct i915_list head = {.count = 0};
    uint16_t seen[8] = {0};
    for (uint32_t i = 0; i < model->engine_count; i++) {
        const uint16_t class_ = model->engines[i];
        const struct i915_class_instance id = {class_, seen[class_ & 7]++};
        if (is_shown(id)) shown[head.count++].id = id;
    }
    put(answer, &head, sizeof head);
    put(answer, shown, head.count * sizeof *shown);
}

static void put_regions(struct answer *answer, const struct model *model) {
    const struct i915_list head = {.count = model->vram_bytes ? 2 : 1};
    const struct i915_region system = {
        .id = {0, 0}, .total = model->system_bytes, .free = model->system_bytes};
    const struct i915_region vram = {
        .id = {1, 0}, .total = model->vram_bytes, .free = model->vram_bytes};
    put(answer, &head, sizeof head);
    put(answer, &system, sizeof system);
    if (model->vram_bytes) put(answer, &vram, sizeof vram);
}

static int put_hwconfig(struct answer *answer, const struct model *model) {
    if (model->ip_major * 100 + model->ip_minor < FIRST_IP_WITH_HWCONFIG) return -ENODEV;
    put(answer, model->hwconfig, model->hwconfig_words * sizeof(uint32_t));
    return 0;
}

static int make_answer(struct answer *answer, const struct model *model, uint64_t query) {
    switch (query) {
        case I915_QUERY_TOPOLOGY: put_topology(answer, model); return 0;
        case I915_QUERY_ENGINES: put_engines(answer, model); return 0;
        case I915_QUERY_REGIONS: put_regions(answer, model); return 0;
        case I915_QUERY_HWCONFIG: return put_hwconfig(answer, model);
        default: return -EINVAL;
    }
}

/* The length of an answer, or what is wrong. */
static int32_t answer_item(const struct model *model, const struct i915_query_item *item) {
    struct answer answer = {.size = 0};
    const int result = item->flags ? -EINVAL : make_answer(&answer, model, item->query);
    if (result || item->length == 0) return result ? result : (int32_t)answer.size;
    if (item->length < 0 || (size_t)item->length < answer.size) return -EINVAL;
    if (copy_to_program(item->data, answer.bytes, answer.size)) return -EFAULT;
    return (int32_t)answer.size;
}

int answer_queries(const struct model *model, const struct i915_query *request) {
    if (request->flags || request->count > MOST_QUERIES) return -EINVAL;
    for (uint32_t i = 0; i < request->count; i++) {
        struct i915_query_item item;
        const uint64_t place = request->items + i * sizeof item;
        if (copy_from_program(&item, place, sizeof item)) return -EFAULT;
        item.length = answer_item(model, &item);
        if (copy_to_program(place, &item, sizeof item)) return -EFAULT;
    }
    return 0;
}
