/* The ioctls of Linux's `i915` driver, for GPU drivers that know no `xe`. */
#define _GNU_SOURCE
#include <errno.h>

#include "i915.h"

static int create_in_system(int device, struct i915_gem_create *request) {
    if (!request->size) return -EINVAL;
    request->size = aligned(request->size, PAGE);
    return make_object(device, request->size, PLACE_SYSTEM, &request->handle);
}

/* The regions of which an object may be in any; where there is memory of the device, it is there. */
static int read_regions(const struct model *model, uint64_t place, uint32_t *placement) {
    struct i915_memory_regions_extension given;
    struct i915_class_instance region;
    if (copy_from_program(&given, place, sizeof given)) return -EFAULT;
    if (given.base.name != CREATE_MEMORY_REGIONS || given.base.next || given.pad) return -EINVAL;
    if (!given.count || given.count > 2) return -EINVAL;
    *placement = 0;
    for (uint32_t i = 0; i < given.count; i++) {
        const uint64_t at = given.regions + i * sizeof region;
        if (copy_from_program(&region, at, sizeof region)) return -EFAULT;
        if (region.instance || region.class_ > (model->vram_bytes ? 1 : 0)) return -EINVAL;
        *placement |= region.class_ ? PLACE_VRAM : PLACE_SYSTEM;
    }
    return 0;
}

static int create_in_regions(int device, struct i915_gem_create_ext *request) {
    uint32_t placement = PLACE_SYSTEM;
    if (!request->size || request->flags) return -EINVAL;
    const int result = request->extensions
                           ? read_regions(device_at(device), request->extensions, &placement)
                           : 0;
    if (result) return result;
    const bool in_vram = placement & PLACE_VRAM;
    request->size = aligned(request->size, in_vram ? OBJECT_ALIGNMENT : PAGE);
    return make_object(device, request->size, placement, &request->handle);
}

static int lend_memory(int device, struct i915_gem_userptr *request) {
    if (request->flags & ~(uint32_t)(USERPTR_READ_ONLY | USERPTR_PROBE)) return -EINVAL;
    if (!request->size || !request->address) return -EINVAL;
    if (request->address % PAGE || request->size % PAGE) return -EINVAL;
    if (request->address + request->size < request->address) return -EINVAL;
    const bool is_read_only = request->flags & USERPTR_READ_ONLY;
    return make_program_object(device, request->address, request->size, is_read_only,
                               &request->handle);
}

static int set_domain(const struct i915_gem_set_domain *request) {
    int64_t left;
    return await_object(request->handle, -1, &left);
}

static int is_busy(struct i915_gem_handle *request) {
    int64_t left;
    const int result = await_object(request->handle, 0, &left);
    request->value = result == -ETIME;
    return result == -ETIME ? 0 : result;
}

static int wait_for(struct i915_gem_wait *request) {
    if (request->flags) return -EINVAL;
    return await_object(request->handle, request->timeout, &request->timeout);
}

/* Objects are in rows: nothing here would see tiles. */
static int set_tiling(const struct i915_gem_tiling *request) {
    uint64_t offset;
    const int result = object_offset(request->handle, &offset);
    return result ? result : request->mode ? -EOPNOTSUPP : 0;
}

static int get_tiling(struct i915_gem_tiling *request) {
    uint64_t offset;
    request->mode = request->stride_or_swizzle = request->swizzle = 0;
    return object_offset(request->handle, &offset);
}

static int read_register(const struct model *model, struct i915_reg_read *request) {
    uint64_t cpu_time;
    if (request->offset != (REGISTER_TIMESTAMP | REGISTER_IS_64_BITS)) return -EINVAL;
    request->value = cycles_now(model, &cpu_time, 0);
    return 0;
}

static int create_empty_vm(int device, struct i915_vm *request) {
    return request->extensions || request->flags ? -EINVAL : make_vm(device, &request->vm);
}

static int answer_memory(int device, unsigned command, void *argument) {
    struct i915_gem_mmap_offset *shown = argument;
    switch (command) {
        case I915_GEM_CREATE: return create_in_system(device, argument);
        case I915_GEM_CREATE_EXT: return create_in_regions(device, argument);
        case I915_GEM_USERPTR: return lend_memory(device, argument);
        case I915_GEM_MMAP_OFFSET: return object_offset(shown->handle, &shown->offset);
        case I915_GEM_SET_DOMAIN: return set_domain(argument);
        case I915_GEM_SET_CACHING: return 0; /* There are no caches. */
        case I915_GEM_SET_TILING: return set_tiling(argument);
        case I915_GEM_GET_TILING: return get_tiling(argument);
        case I915_GEM_BUSY: return is_busy(argument);
        case I915_GEM_WAIT: return wait_for(argument);
        default: return -EINVAL;
    }
}

int answer_i915(int device, unsigned command, void *argument) {
    const struct model *model = device_at(device);
    switch (command) {
        case I915_GETPARAM: return get_param(model, argument);
        case I915_QUERY: return answer_queries(model, argument);
        case I915_REG_READ: return read_register(model, argument);
        case I915_GET_RESET_STATS: return reset_stats(device, argument);
        case I915_VM_CREATE: return create_empty_vm(device, argument);
        case I915_VM_DESTROY: return destroy_vm(((struct i915_vm *)argument)->vm);
        case I915_CONTEXT_CREATE: return create_context(device, argument);
        case I915_CONTEXT_DESTROY:
            return destroy_context(device, ((struct i915_context *)argument)->context);
        case I915_CONTEXT_GETPARAM: return get_context_param(device, argument);
        case I915_CONTEXT_SETPARAM: return set_context_param(device, argument);
        case I915_GEM_EXECBUFFER2: return execute_buffer(device, argument);
        default: return answer_memory(device, command, argument);
    }
}
