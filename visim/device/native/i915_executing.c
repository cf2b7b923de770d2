/* i915's EXECBUFFER2: a list of objects with their addresses, one of which is the batch. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "i915.h"

enum { MOST_EXEC_OBJECTS = 1 << 16 };
#define KNOWN_FLAGS                                                                      \
    ((uint64_t)(EXEC_ENGINE_MASK | EXEC_IS_PINNED | EXEC_NO_RELOCATIONS | EXEC_HANDLE_TABLE | \
                EXEC_BATCH_FIRST))
#define KNOWN_OBJECT_FLAGS \
    ((uint64_t)(OBJECT_WRITES | OBJECT_48_BITS | OBJECT_PINNED | OBJECT_ASYNC | OBJECT_CAPTURE))

/* Objects without a wanted address, and relocations, are for drivers before 2016. */
static int check_objects(const struct i915_exec_object *objects, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        const struct i915_exec_object *one = &objects[i];
        if (!(one->flags & OBJECT_PINNED) || one->flags & ~KNOWN_OBJECT_FLAGS) return -EINVAL;
        if (one->relocation_count || one->address % PAGE || !one->address) return -EINVAL;
    }
    return 0;
}

static int bind_objects(struct vm *vm, const struct i915_exec_object *objects, uint32_t count) {
    const struct model *model = device_at(vm->device);
    int result = 0;
    sweep(vm);
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = bind_object(vm, objects[i].handle, canonical(objects[i].address, model));
    return result;
}

/* Makes all ready for a batch: mappings, the VM's process, and its end of the queue. */
static int prepare(struct vm *vm, struct queue *queue, uint32_t id,
                   const struct i915_exec_object *objects, uint32_t count) {
    pthread_mutex_lock(&vm->lock);
    int result = vm->exists ? bind_objects(vm, objects, count) : -ENOENT;
    if (result == 0) result = start_vm(vm, queue->vm);
    if (result == 0) result = show_queue(vm, queue, id);
    pthread_mutex_unlock(&vm->lock);
    return result == -ECANCELED || result == -ENODEV ? -EIO : result;
}

/* Sends a batch of a queue, whose lock is held. */
static int submit(struct vm *vm, uint32_t id, uint64_t address,
                  const struct i915_exec_object *objects, uint32_t count) {
    struct queue *queue = queue_at(id);
    if (!queue) return -ENOENT;
    const int result = prepare(vm, queue, id, objects, count);
    if (result) return result;
    const struct message message = {.kind = MESSAGE_RUN, .flags = 1, .address = address};
    const struct use batch = {id, queue->sent + 1};
    for (uint32_t i = 0; i < count; i++) note_batch(objects[i].handle, &batch);
    return send_batch(vm, queue, &message) ? -EIO : 0;
}

static int run(int device, const struct i915_exec *request,
               const struct i915_exec_object *objects) {
    const uint32_t count = request->object_count, engine = request->flags & EXEC_ENGINE_MASK;
    const uint32_t place = request->flags & EXEC_BATCH_FIRST ? 0 : count - 1;
    uint32_t id;
    int result = check_objects(objects, count);
    if (result == 0) result = context_queue(device, (uint32_t)request->context, engine, &id);
    if (result) return result;
    struct queue *queue = queue_at(id);
    struct vm *vm = queue ? vm_at(queue->vm) : NULL;
    if (!vm) return -ENOENT;
    tell_fork(vm);
    if (queue_is_lost(id)) return -EIO;
    const uint64_t start = canonical(objects[place].address, device_at(device));
    pthread_mutex_lock(&queue->order);
    result = submit(vm, id, start + request->batch_offset, objects, count);
    pthread_mutex_unlock(&queue->order);
    return result;
}

int execute_buffer(int device, const struct i915_exec *request) {
    const uint32_t count = request->object_count;
    if (request->flags & ~KNOWN_FLAGS || request->batch_offset % 8) return -EINVAL;
    if (!count || count > MOST_EXEC_OBJECTS) return -EINVAL;
    struct i915_exec_object *objects = malloc(count * sizeof *objects);
    if (!objects) return -ENOMEM;
    int result = copy_from_program(objects, request->objects, count * sizeof *objects);
    if (result == 0) result = run(device, request, objects);
    free(objects);
    return result;
}
