/* The part of the kernel's interface for Intel's `i915` GPUs that the device answers.
 *
 * Numbers and layouts are those of Linux's UAPI (drm/i915_drm.h, Linux 6.0); names are ours. All
 * structures are little endian; padding is spelled out.
 */
#ifndef VISIM_I915_UAPI_H
#define VISIM_I915_UAPI_H

#include <stdint.h>

/* Numbers of ioctls behind DRIVER_COMMANDS. */
enum {
    I915_GETPARAM = 0x06,
    I915_GEM_BUSY = 0x17,
    I915_GEM_CREATE = 0x1b,
    I915_GEM_SET_DOMAIN = 0x1f,
    I915_GEM_SET_TILING = 0x21,
    I915_GEM_GET_TILING = 0x22,
    I915_GEM_MMAP_OFFSET = 0x24,
    I915_GEM_EXECBUFFER2 = 0x29,
    I915_GEM_WAIT = 0x2c,
    I915_CONTEXT_CREATE = 0x2d,
    I915_CONTEXT_DESTROY = 0x2e,
    I915_GEM_SET_CACHING = 0x2f,
    I915_REG_READ = 0x31,
    I915_GET_RESET_STATS = 0x32,
    I915_GEM_USERPTR = 0x33,
    I915_CONTEXT_GETPARAM = 0x34,
    I915_CONTEXT_SETPARAM = 0x35,
    I915_QUERY = 0x39,
    I915_VM_CREATE = 0x3a,
    I915_VM_DESTROY = 0x3b,
    I915_GEM_CREATE_EXT = 0x3c,
};

enum {
    PARAM_CHIPSET = 4,
    PARAM_HAS_EXECBUFFER2 = 9,
    PARAM_HAS_LLC = 17,
    PARAM_HAS_WAIT_TIMEOUT = 19,
    PARAM_HAS_NO_RELOCATIONS = 25,
    PARAM_REVISION = 32,
    PARAM_SUBSLICES = 33,
    PARAM_EUS = 34,
    PARAM_HAS_RESET = 35,
    PARAM_HAS_SOFTPIN = 37,
    PARAM_HAS_POOLED_EU = 38,
    PARAM_MIN_EU_IN_POOL = 39,
    PARAM_SCHEDULER = 41,
    PARAM_HAS_EXEC_ASYNC = 43,
    PARAM_HAS_EXEC_CAPTURE = 45,
    PARAM_HAS_BATCH_FIRST = 48,
    PARAM_HAS_CONTEXT_ISOLATION = 50,
    PARAM_TIMESTAMP_HZ = 51,
};

struct i915_getparam {
    int32_t param, pad;
    uint64_t value; /* where an int is to be written */
};

struct i915_gem_create {
    uint64_t size;
    uint32_t handle, pad;
};

struct i915_gem_create_ext {
    uint64_t size;
    uint32_t handle, flags;
    uint64_t extensions;
};

struct i915_extension {
    uint64_t next;
    uint32_t name, flags, reserved[4];
};

enum { CREATE_MEMORY_REGIONS = 0 };

struct i915_class_instance {
    uint16_t class_, instance;
};

struct i915_memory_regions_extension {
    struct i915_extension base;
    uint32_t pad, count;
    uint64_t regions; /* class and instance of each */
};

enum { USERPTR_READ_ONLY = 1, USERPTR_PROBE = 2 };

struct i915_gem_userptr {
    uint64_t address, size;
    uint32_t flags, handle;
};

struct i915_gem_mmap_offset {
    uint32_t handle, pad;
    uint64_t offset, flags, extensions;
};

struct i915_gem_handle {
    uint32_t handle, value;
};

struct i915_gem_set_domain {
    uint32_t handle, read, write;
};

struct i915_gem_tiling {
    uint32_t handle, mode, stride_or_swizzle, swizzle;
};

struct i915_gem_wait {
    uint32_t handle, flags;
    int64_t timeout;
};

struct i915_reg_read {
    uint64_t offset, value;
};

enum { REGISTER_TIMESTAMP = 0x2358, REGISTER_IS_64_BITS = 1 };

struct i915_reset_stats {
    uint32_t context, flags, resets, batches_active, batches_pending, pad;
};

struct i915_vm {
    uint64_t extensions;
    uint32_t flags, vm;
};

enum { CONTEXT_USES_EXTENSIONS = 1, CONTEXT_KNOWN_FLAGS = 3, CONTEXT_SET_PARAM = 0 };

struct i915_context_create {
    uint32_t context, flags;
    uint64_t extensions;
};

struct i915_context {
    uint32_t context, pad;
};

enum {
    CONTEXT_ADDRESS_BYTES = 3,
    CONTEXT_NO_ERROR_CAPTURE = 4,
    CONTEXT_BANNABLE = 5,
    CONTEXT_PRIORITY = 6,
    CONTEXT_SLICES = 7,
    CONTEXT_RECOVERABLE = 8,
    CONTEXT_VM = 9,
    CONTEXT_ENGINES = 10,
    CONTEXT_PERSISTENCE = 11,
    CONTEXT_PARAMS,
    MOST_PRIORITY = 1023
};

struct i915_context_param {
    uint32_t context, size;
    uint64_t param, value;
};

struct i915_context_set_param {
    struct i915_extension base;
    struct i915_context_param param;
};

enum { ENGINES_BALANCED = 0, ENGINE_INVALID = 0xffff };

/* Engines follow both. */
struct i915_engine_map {
    uint64_t extensions;
};

struct i915_balanced_engines {
    struct i915_extension base;
    uint16_t index, count;
    uint32_t flags;
    uint64_t reserved;
};

enum { I915_QUERY_TOPOLOGY = 1, I915_QUERY_ENGINES = 2, I915_QUERY_REGIONS = 4, I915_QUERY_HWCONFIG };

struct i915_query {
    uint32_t count, flags;
    uint64_t items;
};

struct i915_query_item {
    uint64_t query;
    int32_t length; /* or a negative errno */
    uint32_t flags;
    uint64_t data;
};

struct i915_topology {
    uint16_t flags, slices, subslices, eus;
    uint16_t subslice_offset, subslice_stride, eu_offset, eu_stride;
};

struct i915_list {
    uint32_t count, reserved[3];
};

struct i915_engine {
    struct i915_class_instance id;
    uint32_t pad;
    uint64_t flags, capabilities, reserved[4];
};

struct i915_region {
    struct i915_class_instance id;
    uint32_t pad;
    uint64_t total, free, reserved[8];
};

enum {
    OBJECT_WRITES = 1 << 2,
    OBJECT_48_BITS = 1 << 3,
    OBJECT_PINNED = 1 << 4,
    OBJECT_ASYNC = 1 << 6,
    OBJECT_CAPTURE = 1 << 7
};

struct i915_exec_object {
    uint32_t handle, relocation_count;
    uint64_t relocations, alignment, address, flags, reserved[2];
};

enum {
    EXEC_ENGINE_MASK = 0x3f,
    EXEC_RENDER = 1,
    EXEC_COPY = 3,
    EXEC_IS_PINNED = 1 << 10,
    EXEC_NO_RELOCATIONS = 1 << 11,
    EXEC_HANDLE_TABLE = 1 << 12,
    EXEC_BATCH_FIRST = 1 << 18
};

struct i915_exec {
    uint64_t objects;
    uint32_t object_count, batch_offset, batch_bytes, reserved[3];
    uint64_t rectangles, flags, context, reserved2;
};

#endif
