/* Where objects are in VMs, as i915 has it: each batch brings a list of objects with addresses.
 *
 * An object stays where the last batch had it, until another one needs the place or the object is
 * closed. Neither happens under a batch that uses it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "i915.h"

#define ADDRESS_END (1ull << 47)

/* Whether the program still has its own memory behind a mapping. */
static bool is_there(uint64_t place, uint64_t size) {
    return msync((void *)place, size, MS_ASYNC) == 0 || errno != ENOMEM;
}

bool object_is_busy(uint32_t handle) {
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(handle);
    while (object && object->batch_count && is_done(&object->batches[object->batch_count - 1]))
        object->batch_count--;
    bool is_busy = object && object->batch_count;
    pthread_mutex_unlock(&tables_lock);
    return is_busy;
}

/* Waits so many nanoseconds, or without an end if that is negative. */
int await_object(uint32_t handle, int64_t timeout, int64_t *left) {
    const int64_t start = now_ns();
    long pause = 2000;
    pthread_mutex_lock(&tables_lock);
    const bool is_known = object_at(handle) != NULL;
    pthread_mutex_unlock(&tables_lock);
    if (!is_known) return -ENOENT;
    while (object_is_busy(handle)) {
        *left = timeout < 0 ? timeout : timeout - (now_ns() - start);
        if (timeout >= 0 && *left <= 0) {
            *left = 0;
            return -ETIME;
        }
        pause_for(&pause);
    }
    return 0;
}

/* Notes that a batch uses an object; of each queue the last one counts. */
void note_batch(uint32_t handle, const struct use *batch) {
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(handle);
    uint32_t place = 0;
    while (object && place < object->batch_count) {
        if (object->batches[place].queue == batch->queue) break;
        if (is_done(&object->batches[place]))
            object->batches[place] = object->batches[--object->batch_count];
        else
            place++;
    }
    if (object && place == object->batch_room) {
        const uint32_t room = place ? place * 2 : 2;
        struct use *more = realloc(object->batches, room * sizeof *more);
        if (more) object->batches = more;
        if (more) object->batch_room = room;
    }
    if (object && place < object->batch_room) {
        object->batches[place] = *batch;
        if (place == object->batch_count) object->batch_count++;
    }
    pthread_mutex_unlock(&tables_lock);
}

static int take_away(struct vm *vm, size_t place) {
    const struct message message = {.kind = MESSAGE_UNMAP,
                                    .address = vm->mappings[place].address,
                                    .size = vm->mappings[place].range};
    pthread_mutex_lock(&tables_lock);
    remove_mapping(vm, place);
    pthread_mutex_unlock(&tables_lock);
    return tell_process(vm, &message);
}

/* Waits for the batches that use an object before it is taken from its place. */
static int evict(struct vm *vm, size_t place) {
    int64_t left;
    await_object(vm->mappings[place].object, -1, &left);
    return take_away(vm, place);
}

static int make_room(struct vm *vm, uint64_t address, uint64_t range) {
    int result = 0;
    for (size_t i = vm->count; i-- > 0 && result == 0;) {
        const struct mapping *one = &vm->mappings[i];
        if (one->address < address + range && address < one->address + one->range)
            result = evict(vm, i);
    }
    return result;
}

/* What is to be mapped where, for an object that somebody holds; one more use of it. */
static int take_object(const struct vm *vm, uint32_t handle, uint64_t address,
                       struct mapping *mapping) {
    int result = 0;
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(handle);
    if (!object || !(object->open_on & 1u << vm->device))
        result = -ENOENT;
    else if (address > ADDRESS_END - PAGE || object->size > ADDRESS_END - address)
        result = -EINVAL;
    else if (object->program && !is_there(object->program, object->size))
        result = -EFAULT;
    if (result == 0) {
        *mapping = (struct mapping){.address = address,
                                    .range = object->size,
                                    .offset = object->program ? object->program : object->offset,
                                    .asked = object->asked,
                                    .kind = object->program ? BIND_USERPTR : BIND_MAP,
                                    .object = handle,
                                    .flags = object->is_read_only ? BIND_READ_ONLY : 0};
        object->uses++;
    }
    pthread_mutex_unlock(&tables_lock);
    return result;
}

static void leave_object(uint32_t handle) {
    pthread_mutex_lock(&tables_lock);
    end_use(handle);
    pthread_mutex_unlock(&tables_lock);
}

static int map_object(struct vm *vm, const struct mapping *mapping) {
    const struct message message = mapping_message(mapping);
    int result = make_room(vm, mapping->address, mapping->range);
    if (result == 0) result = add_mapping(vm, mapping);
    if (result) {
        leave_object(mapping->object);
        return result;
    }
    result = tell_process(vm, &message);
    if (result) take_away(vm, vm->count - 1);
    return result;
}

int bind_object(struct vm *vm, uint32_t handle, uint64_t address) {
    struct mapping mapping;
    for (size_t i = 0; i < vm->count; i++) {
        const struct mapping *one = &vm->mappings[i];
        if (one->object != handle) continue;
        const bool is_lost =
            one->kind == BIND_USERPTR && !is_there(one->offset, one->range);
        if (one->address == address && !is_lost) return 0;
        const int result = evict(vm, i);
        if (result) return result;
        break;
    }
    const int result = take_object(vm, handle, address, &mapping);
    return result ? result : map_object(vm, &mapping);
}

/* Takes away what nobody can use any more: objects that were closed while they were busy, and
 * memory of the program that the program has given up. */
void sweep(struct vm *vm) {
    const bool has_closed = vm->has_closed;
    vm->has_closed = false;
    for (size_t i = vm->count; i-- > 0;) {
        const struct mapping *one = &vm->mappings[i];
        bool is_closed = false;
        if (has_closed) {
            pthread_mutex_lock(&tables_lock);
            is_closed = !(object_at(one->object)->open_on & 1u << vm->device);
            pthread_mutex_unlock(&tables_lock);
        }
        const bool is_lost = one->kind == BIND_USERPTR && !is_there(one->offset, one->range);
        if (!is_closed && !is_lost) continue;
        if (!object_is_busy(one->object))
            take_away(vm, i);
        else if (is_closed)
            vm->has_closed = true;
    }
}

static void unbind_closed(struct vm *vm, uint32_t handle) {
    pthread_mutex_lock(&vm->lock);
    for (size_t i = vm->exists ? vm->count : 0; i-- > 0;) {
        if (vm->mappings[i].object != handle) continue;
        if (object_is_busy(handle))
            vm->has_closed = true;
        else
            take_away(vm, i);
        break;
    }
    pthread_mutex_unlock(&vm->lock);
}

int close_bound_object(int device, uint32_t handle) {
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(handle);
    const bool was_open = leave_handle(device, object);
    if (was_open) object->uses++; /* So that it stays until all VMs were asked. */
    const bool is_bound = was_open && object->uses > 1;
    pthread_mutex_unlock(&tables_lock);
    if (!was_open) return -EINVAL;
    for (uint32_t id = 1; is_bound && id < MOST_VMS; id++)
        if (vms[id].exists && vms[id].device == device) unbind_closed(&vms[id], handle);
    leave_object(handle);
    return 0;
}
