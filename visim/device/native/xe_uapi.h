/* The part of the kernel's interface for Intel's `xe` GPUs that the device answers.
 *
 * Numbers and layouts are those of Linux's UAPI (drm/xe_drm.h, Linux 6.8 and later); names are
 * ours. All structures are little endian and have no hidden padding.
 */
#ifndef VISIM_XE_UAPI_H
#define VISIM_XE_UAPI_H

#include <stdint.h>

enum { DRM_MAJOR = 226, FIRST_RENDER_MINOR = 128, DRIVER_COMMANDS = 0x40 };

/* Numbers of ioctls; the driver's own are DRIVER_COMMANDS + n. */
enum {
    DRM_VERSION = 0x00,
    DRM_GEM_CLOSE = 0x09,
    DRM_GET_CAP = 0x0c,
    DRM_PRIME_HANDLE_TO_FD = 0x2d,
    DRM_PRIME_FD_TO_HANDLE = 0x2e,
    XE_DEVICE_QUERY = DRIVER_COMMANDS,
    XE_GEM_CREATE,
    XE_GEM_MMAP_OFFSET,
    XE_VM_CREATE,
    XE_VM_DESTROY,
    XE_VM_BIND,
    XE_QUEUE_CREATE,
    XE_QUEUE_DESTROY,
    XE_QUEUE_GET_PROPERTY,
    XE_EXEC,
    XE_WAIT_USER_FENCE,
};

struct drm_version {
    int32_t major, minor, patch;
    uint64_t name_length, name;
    uint64_t date_length, date;
    uint64_t description_length, description;
};

struct drm_gem_close {
    uint32_t handle, pad;
};

struct drm_prime {
    uint32_t handle, flags;
    int32_t fd;
};

/* Flags of a shared object's file: as those of open. */
enum { PRIME_READ_WRITE = 2, PRIME_CLOSE_ON_EXEC = 02000000 };

enum {
    QUERY_ENGINES,
    QUERY_REGIONS,
    QUERY_CONFIG,
    QUERY_GT_LIST,
    QUERY_HWCONFIG,
    QUERY_TOPOLOGY,
    QUERY_CYCLES,
    QUERY_FIRMWARE,
};

struct xe_query {
    uint64_t extensions;
    uint32_t query, size;
    uint64_t data, reserved[2];
};

enum { ENGINE_RENDER = 0, ENGINE_COPY = 1, ENGINE_COMPUTE = 4 };

struct xe_engine_id {
    uint16_t class_, instance, gt, pad;
};

struct xe_engine {
    struct xe_engine_id id;
    uint64_t reserved[3];
};

struct xe_engines {
    uint32_t count, pad;
    struct xe_engine engines[];
};

struct xe_region {
    uint16_t class_, instance;
    uint32_t min_page_size;
    uint64_t total, used, cpu_visible, cpu_visible_used, reserved[6];
};

struct xe_regions {
    uint32_t count, pad;
    struct xe_region regions[];
};

enum { CONFIG_HAS_VRAM = 1, CONFIG_LOW_LATENCY = 2, CONFIG_VALUES = 5 };

struct xe_config {
    uint32_t count, pad;
    uint64_t values[CONFIG_VALUES]; /* device, flags, least alignment, address bits, priority */
};

struct xe_gt {
    uint16_t type, tile, id, pad[3];
    uint32_t reference_clock;
    uint64_t near_regions, far_regions;
    uint16_t ip_major, ip_minor, ip_revision, pad2;
    uint64_t reserved[7];
};

struct xe_gt_list {
    uint32_t count, pad;
    struct xe_gt gts[];
};

enum {
    TOPOLOGY_GEOMETRY = 1,
    TOPOLOGY_COMPUTE = 2,
    TOPOLOGY_L3 = 3,
    TOPOLOGY_EU = 4,
    TOPOLOGY_SIMD16_EU = 5
};

struct xe_topology {
    uint16_t gt, type;
    uint32_t size;
};

struct xe_cycles {
    struct xe_engine_id engine;
    int32_t clock;
    uint32_t width;
    uint64_t cycles, cpu_time, cpu_delta;
};

enum { PLACE_SYSTEM = 1, PLACE_VRAM = 2 };

struct xe_gem_create {
    uint64_t extensions, size;
    uint32_t placement, flags, vm, handle;
    uint16_t caching, pad[3];
    uint64_t reserved[2];
};

enum { MMAP_BARRIER = 1 };

struct xe_gem_mmap_offset {
    uint64_t extensions;
    uint32_t handle, flags;
    uint64_t offset, reserved[2];
};

struct xe_vm_create {
    uint64_t extensions;
    uint32_t flags, vm;
    uint64_t reserved[2];
};

struct xe_vm_destroy {
    uint32_t vm, pad;
    uint64_t reserved[2];
};

enum { BIND_MAP, BIND_UNMAP, BIND_USERPTR, BIND_UNMAP_ALL, BIND_PREFETCH };
enum { BIND_READ_ONLY = 1, BIND_NULL = 4, BIND_MIRROR = 32, BIND_KNOWN_FLAGS = 0x7f };

struct xe_bind_op {
    uint64_t extensions;
    uint32_t object;
    uint16_t pat, pad;
    uint64_t offset, range, address;
    uint32_t op, flags, prefetch_region, pad2;
    uint64_t reserved[3];
};

struct xe_vm_bind {
    uint64_t extensions;
    uint32_t vm, queue, pad, count;
    union {
        struct xe_bind_op one;
        uint64_t vector;
    };
    uint32_t pad2, sync_count;
    uint64_t syncs, reserved[2];
};

struct xe_queue_create {
    uint64_t extensions;
    uint16_t width, placements;
    uint32_t vm, flags, queue;
    uint64_t instances, reserved[2];
};

struct xe_queue_destroy {
    uint32_t queue, pad;
    uint64_t reserved[2];
};

struct xe_queue_property {
    uint64_t extensions;
    uint32_t queue, property;
    uint64_t value, reserved[2];
};

enum { SYNC_USER_FENCE = 2, SYNC_SIGNAL = 1 };

struct xe_sync {
    uint64_t extensions;
    uint32_t type, flags;
    uint64_t address, value, reserved[2];
};

struct xe_exec {
    uint64_t extensions;
    uint32_t queue, sync_count;
    uint64_t syncs, batch;
    uint16_t batches, pad[3];
    uint64_t reserved[2];
};

enum { WAIT_EQUAL, WAIT_NOT_EQUAL, WAIT_GREATER, WAIT_AT_LEAST, WAIT_LESS, WAIT_AT_MOST };
enum { WAIT_ABSOLUTE = 1 };

struct xe_wait {
    uint64_t extensions, address;
    uint16_t op, flags;
    uint32_t pad;
    uint64_t value, mask;
    int64_t timeout;
    uint32_t queue, pad2;
    uint64_t reserved[2];
};

#endif
