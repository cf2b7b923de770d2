/* VMs: what is mapped in them, and the processes in which their batches run.
 *
 * A VM's process is started with its first batch; until then its mappings are only listed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "objects.h"

#define LARGEST_RANGE (1ull << 47)
enum { MOST_TRIES = 8, MOST_BINDS = 1 << 16 };

struct vm vms[MOST_VMS];

struct vm *vm_at(uint32_t id) {
    return id && id < MOST_VMS && vms[id].exists ? &vms[id] : NULL;
}

int make_vm(int device, uint32_t *found) {
    pthread_mutex_lock(&tables_lock);
    uint32_t id = 1;
    while (id < MOST_VMS && vms[id].exists) id++;
    if (id < MOST_VMS) {
        vms[id] = (struct vm){.exists = true, .device = device, .process = {-1}};
        pthread_mutex_init(&vms[id].lock, NULL);
        *found = id;
    }
    pthread_mutex_unlock(&tables_lock);
    return id < MOST_VMS ? 0 : -ENOSPC;
}

int create_vm(int device, struct xe_vm_create *request) {
    return request->extensions ? -EINVAL : make_vm(device, &request->vm);
}

/* Removes a mapping from the list and ends its use of an object. */
void remove_mapping(struct vm *vm, size_t place) {
    end_use(vm->mappings[place].object);
    vm->mappings[place] = vm->mappings[--vm->count];
}

int destroy_vm(uint32_t id) {
    struct vm *vm = vm_at(id);
    if (!vm) return -ENOENT;
    pthread_mutex_lock(&vm->lock);
    pthread_mutex_lock(&tables_lock);
    const bool was_there = vm->exists;
    while (was_there && vm->count) remove_mapping(vm, vm->count - 1);
    if (was_there) free(vm->mappings);
    vm->mappings = NULL;
    vm->room = 0;
    vm->exists = false;
    for (uint32_t i = 0; i < MOST_QUEUES; i++)
        if (queues[i].vm == id) queues[i].vm = 0; /* A VM of the same number is not theirs. */
    pthread_mutex_unlock(&tables_lock);
    if (vm->is_running) {
        const struct message message = {.kind = MESSAGE_END};
        ask_process(&vm->process, &message, -1);
        vm->is_running = false;
    }
    end_process(&vm->process);
    pthread_mutex_unlock(&vm->lock);
    return was_there ? 0 : -ENOENT;
}

struct message mapping_message(const struct mapping *mapping) {
    return (struct message){.kind = mapping->kind == BIND_USERPTR ? MESSAGE_MAP_PROGRAM
                                                                  : MESSAGE_MAP,
                            .flags = mapping->flags,
                            .address = mapping->address,
                            .size = mapping->range,
                            .place = mapping->offset,
                            .value = mapping->asked};
}

int add_mapping(struct vm *vm, const struct mapping *mapping) {
    if (vm->count == vm->room) {
        const size_t room = vm->room ? vm->room * 2 : 64;
        struct mapping *more = realloc(vm->mappings, room * sizeof *more);
        if (!more) return -ENOMEM;
        vm->mappings = more;
        vm->room = room;
    }
    vm->mappings[vm->count++] = *mapping;
    return 0;
}

static int unmap(struct vm *vm, uint64_t address, uint64_t range, bool *is_shown) {
    *is_shown = false;
    for (size_t i = vm->count; i-- > 0;) {
        const struct mapping *one = &vm->mappings[i];
        if (one->address < address || one->address + one->range > address + range) continue;
        *is_shown = true;
        remove_mapping(vm, i);
    }
    return 0;
}

uint64_t canonical(uint64_t address, const struct model *model) {
    return address & ((1ull << (model->address_bits > 48 ? 57 : 48)) - 1);
}

/* Checks a MAP and gives its object one more use. */
static int new_mapping(const struct vm *vm, const struct xe_bind_op *op, uint64_t address,
                       struct mapping *mapping) {
    *mapping = (struct mapping){.address = address,
                                .range = op->range,
                                .kind = op->op,
                                .offset = op->offset,
                                .flags = op->flags & BIND_READ_ONLY};
    if (op->op == BIND_USERPTR) return op->flags & (BIND_NULL | BIND_MIRROR) ? -EINVAL : 0;
    if (op->flags & (BIND_MIRROR | BIND_NULL)) return -EOPNOTSUPP;
    struct object *object = object_at(op->object);
    if (!object || !(object->open_on & 1u << vm->device)) return -ENOENT;
    const uint64_t size = aligned(object->size, OBJECT_ALIGNMENT);
    if (op->offset > size || op->range > size - op->offset) return -EINVAL;
    if (op->offset == 0) mapping->asked = object->asked;
    mapping->offset += object->offset;
    mapping->object = op->object;
    object->uses++;
    return 0;
}

/* Changes the list of mappings; `message` is what the VM's process has to be told, if anything. */
static int change_mappings(struct vm *vm, const struct xe_bind_op *op, struct message *message,
                           bool *is_shown) {
    const struct model *model = device_at(vm->device);
    const uint64_t address = canonical(op->address, model);
    struct mapping mapping = {0};
    int result;
    *message = (struct message){.kind = MESSAGE_UNMAP, .address = address, .size = op->range};
    *is_shown = true;
    switch (op->op) {
        case BIND_MAP:
        case BIND_USERPTR:
            result = address % PAGE ? -EINVAL : new_mapping(vm, op, address, &mapping);
            if (result == 0) result = add_mapping(vm, &mapping);
            *message = mapping_message(&mapping);
            return result;
        case BIND_UNMAP: return unmap(vm, address, op->range, is_shown);
        case BIND_PREFETCH: *is_shown = false; return 0;
        default: return -EOPNOTSUPP;
    }
}

/* Tells a VM's process, if there is one, of a change of mappings. */
int tell_process(struct vm *vm, const struct message *message) {
    const int result = vm->is_running ? ask_process(&vm->process, message, -1) : 0;
    return result == -ECANCELED ? 0 : result; /* A lost VM can still be taken down. */
}

static int bind_one(struct vm *vm, const struct xe_bind_op *op) {
    struct message message;
    bool is_shown;
    if (op->flags & ~(uint32_t)BIND_KNOWN_FLAGS) return -EINVAL;
    if (op->extensions || (op->op != BIND_UNMAP_ALL && (!op->range || op->range % PAGE)))
        return -EINVAL;
    if (op->range > LARGEST_RANGE) return -EINVAL;
    pthread_mutex_lock(&vm->lock);
    pthread_mutex_lock(&tables_lock);
    int result = change_mappings(vm, op, &message, &is_shown);
    pthread_mutex_unlock(&tables_lock);
    if (result == 0 && is_shown) result = tell_process(vm, &message);
    pthread_mutex_unlock(&vm->lock);
    return result;
}

static int signal_fences(uint64_t syncs, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct xe_sync sync;
        if (copy_from_program(&sync, syncs + i * sizeof sync, sizeof sync)) return -EFAULT;
        if (sync.type != SYNC_USER_FENCE || !(sync.flags & SYNC_SIGNAL)) continue;
        if (copy_to_program(sync.address, &sync.value, sizeof sync.value)) return -EFAULT;
    }
    return 0;
}

int bind_vm(const struct xe_vm_bind *request) {
    struct vm *vm = vm_at(request->vm);
    if (!vm) return -ENOENT;
    if (request->extensions || !request->count || request->count > MOST_BINDS) return -EINVAL;
    for (uint32_t i = 0; i < request->count; i++) {
        struct xe_bind_op op = request->one;
        if (request->count > 1 &&
            copy_from_program(&op, request->vector + i * sizeof op, sizeof op))
            return -EFAULT;
        const int result = bind_one(vm, &op);
        if (result) return result;
    }
    return signal_fences(request->syncs, request->sync_count);
}

/* Says why a forked child has no device, once. */
void tell_fork(struct vm *vm) {
    if (!vm->is_forked || __atomic_exchange_n(&vm->is_told, true, __ATOMIC_RELAXED)) return;
    fprintf(stderr, "visim: process %d was forked after the program had opened the GPU, which stays "
                    "with the parent; ask for platforms (clGetPlatformIDs, zeInit) behind the fork\n",
            (int)getpid());
}

/* Starts a VM's process and tells it all mappings; the VM's lock is held. */
int start_vm(struct vm *vm, uint32_t id) {
    if (vm->is_running) return 0;
    tell_fork(vm);
    if (vm->is_lost) return -ECANCELED;
    int result = -EEXIST;
    /* A process that has something of its own at one of the addresses is tried again: where its
     * libraries are is chosen by chance. */
    for (int tries = 0; result == -EEXIST && tries < MOST_TRIES; tries++) {
        end_process(&vm->process);
        result = start_process(&vm->process, device_at(vm->device), id);
        for (size_t i = 0; result == 0 && i < vm->count; i++) {
            const struct message message = mapping_message(&vm->mappings[i]);
            result = ask_process(&vm->process, &message, -1);
        }
    }
    if (result == -EEXIST)
        fprintf(stderr, "visim: no process has room for the program's memory at its addresses; "
                        "start the program again\n");
    vm->is_running = result == 0;
    vm->is_lost = result != 0;
    return result;
}

/* Lets the processes of all VMs write their reports; the program is about to end. */
void finish_all(void) {
    const struct message message = {.kind = MESSAGE_END};
    for (uint32_t i = 0; i < MOST_VMS; i++) {
        if (!vms[i].exists || !vms[i].is_running) continue;
        pthread_mutex_lock(&vms[i].lock);
        ask_process(&vms[i].process, &message, -1);
        pthread_mutex_unlock(&vms[i].lock);
    }
}

/* A forked child shares the parent's files, but the VMs are the parent's: it gets lost ones. */
void forget_all_after_fork(void) {
    pthread_mutex_init(&tables_lock, NULL);
    forget_contexts_after_fork();
    for (uint32_t i = 0; i < MOST_QUEUES; i++) {
        if (queues[i].exists && queues[i].socket >= 0) real_close(queues[i].socket);
        queues[i].socket = -1;
        pthread_mutex_init(&queues[i].order, NULL);
    }
    for (uint32_t i = 0; i < MOST_VMS; i++) {
        if (!vms[i].exists) continue;
        pthread_mutex_init(&vms[i].lock, NULL);
        end_process(&vms[i].process);
        vms[i].is_lost = vms[i].is_forked = true;
        vms[i].is_running = vms[i].is_told = false;
    }
}
