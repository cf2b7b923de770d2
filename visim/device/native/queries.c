/* Answers to DEVICE_QUERY: what a driver learns of the device, from its model. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <time.h>

#include "device.h"

enum { CYCLE_BITS = 36, PRIORITIES = 2, SYSTEM_PAGE = 4096, LARGEST_ANSWER = 4096 };
#define NANOSECONDS 1000000000ull

struct answer {
    uint8_t bytes[LARGEST_ANSWER];
    uint32_t size;
};

static void put(struct answer *answer, const void *data, size_t size) {
    memcpy(answer->bytes + answer->size, data, size);
    answer->size += (uint32_t)size;
}

static bool is_discrete(const struct model *model) { return model->vram_bytes != 0; }

static void put_engines(struct answer *answer, const struct model *model) {
    const struct xe_engines head = {.count = model->engine_count};
    put(answer, &head, sizeof head);
    uint16_t seen[8] = {0};
    for (uint32_t i = 0; i < model->engine_count; i++) {
        const uint16_t class_ = model->engines[i];
        const struct xe_engine engine = {.id = {.class_ = class_, .instance = seen[class_ & 7]++}};
        put(answer, &engine, sizeof engine);
    }
}

static void put_regions(struct answer *answer, const struct model *model) {
    const struct xe_regions head = {.count = is_discrete(model) ? 2 : 1};
    const struct xe_region system = {
        .class_ = 0, .instance = 0, .min_page_size = SYSTEM_PAGE, .total = model->system_bytes};
    const struct xe_region vram = {.class_ = 1,
                                   .instance = 1,
                                   .min_page_size = OBJECT_ALIGNMENT,
                                   .total = model->vram_bytes,
                                   .cpu_visible = model->vram_bytes};
    put(answer, &head, sizeof head);
    put(answer, &system, sizeof system);
    if (is_discrete(model)) put(answer, &vram, sizeof vram);
}

static void put_config(struct answer *answer, const struct model *model) {
    const struct xe_config config = {
        .count = CONFIG_VALUES,
        .values = {model->device_id | (uint64_t)model->revision << 16,
                   (is_discrete(model) ? CONFIG_HAS_VRAM : 0) | CONFIG_LOW_LATENCY,
                   is_discrete(model) ? OBJECT_ALIGNMENT : SYSTEM_PAGE, model->address_bits,
                   PRIORITIES}};
    put(answer, &config, sizeof config);
}

static void put_gts(struct answer *answer, const struct model *model) {
    const struct xe_gt_list head = {.count = 1};
    const struct xe_gt main_gt = {.reference_clock = model->clock_hz,
                                  .near_regions = is_discrete(model) ? PLACE_VRAM : PLACE_SYSTEM,
                                  .far_regions = is_discrete(model) ? PLACE_SYSTEM : 0,
                                  .ip_major = model->ip_major,
                                  .ip_minor = model->ip_minor,
                                  .ip_revision = model->ip_revision};
    put(answer, &head, sizeof head);
    put(answer, &main_gt, sizeof main_gt);
}

static void put_mask(struct answer *answer, uint16_t type, const uint8_t mask[MASK_BYTES]) {
    const struct xe_topology head = {.gt = 0, .type = type, .size = MASK_BYTES};
    put(answer, &head, sizeof head);
    put(answer, mask, MASK_BYTES);
}

static void put_topology(struct answer *answer, const struct model *model) {
    put_mask(answer, TOPOLOGY_GEOMETRY, model->geometry);
    put_mask(answer, TOPOLOGY_COMPUTE, model->compute);
    put_mask(answer, TOPOLOGY_L3, model->l3);
    put_mask(answer, model->eu_type, model->eu);
}

uint64_t cycles_now(const struct model *model, uint64_t *cpu_time, int32_t clock) {
    struct timespec raw, asked;
    clock_gettime(CLOCK_MONOTONIC_RAW, &raw);
    if (clock_gettime(clock, &asked) != 0) asked = raw;
    *cpu_time = (uint64_t)asked.tv_sec * NANOSECONDS + (uint64_t)asked.tv_nsec;
    const unsigned __int128 now = (uint64_t)raw.tv_sec * NANOSECONDS + (uint64_t)raw.tv_nsec;
    return (uint64_t)(now * model->clock_hz / NANOSECONDS) & ((1ull << CYCLE_BITS) - 1);
}

static void put_cycles(struct answer *answer, const struct model *model,
                       const struct xe_cycles *given) {
    struct xe_cycles cycles = *given;
    cycles.width = CYCLE_BITS;
    cycles.cycles = cycles_now(model, &cycles.cpu_time, cycles.clock);
    cycles.cpu_delta = 0;
    put(answer, &cycles, sizeof cycles);
}

int answer_query(const struct model *model, struct xe_query *query) {
    struct answer answer = {.size = 0};
    if (query->extensions) return -EINVAL;
    struct xe_cycles given = {0};
    const bool has_given = query->query == QUERY_CYCLES && query->size >= sizeof given;
    if (has_given && copy_from_program(&given, query->data, sizeof given)) return -EFAULT;
    switch (query->query) {
        case QUERY_ENGINES: put_engines(&answer, model); break;
        case QUERY_REGIONS: put_regions(&answer, model); break;
        case QUERY_CONFIG: put_config(&answer, model); break;
        case QUERY_GT_LIST: put_gts(&answer, model); break;
        case QUERY_TOPOLOGY: put_topology(&answer, model); break;
        case QUERY_CYCLES: put_cycles(&answer, model, &given); break;
        case QUERY_HWCONFIG:
            put(&answer, model->hwconfig, model->hwconfig_words * sizeof(uint32_t));
            break;
        default: return -EINVAL;
    }
    if (query->size == 0) {
        query->size = answer.size;
        return 0;
    }
    if (query->size != answer.size) return -EINVAL;
    return copy_to_program(query->data, answer.bytes, answer.size);
}
