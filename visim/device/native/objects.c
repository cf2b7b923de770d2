/* Memory objects, VMs and queues: tables behind the handles that a driver holds.
 *
 * All objects are ranges of one sparse file in memory. A VM's process is started with its first
 * batch; until then its mappings are only listed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

#define FILE_BYTES (1ull << 40)
#define SMALLEST_FILE (1ull << 34)
#define LARGEST_RANGE (1ull << 47)
enum { MOST_TRIES = 8, MOST_BINDS = 1 << 16 };

struct object {
    uint64_t offset, size; /* size 0: the handle is free */
    uint64_t asked;        /* what the program asked for; 0 is not known */
    uint32_t uses, placement;
    bool is_open;
};

struct free_range {
    uint64_t offset, size;
    struct free_range *next;
};

struct mapping {
    uint64_t address, range, offset, asked;
    uint32_t kind, object, flags;
};

struct vm {
    bool exists, is_running, is_lost, is_told;
    int device;
    struct mapping *mappings;
    size_t count, room;
    struct vm_process process;
    pthread_mutex_t lock; /* one request to the process at a time */
};

struct queue {
    bool exists, is_known;
    uint32_t vm, class_, instance;
    int socket;
    uint64_t fence; /* of its last batch; 0 if there was none */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static uint64_t file_bytes, file_end = STATUS_BYTES, used[3];
static volatile uint32_t *status_words;
static struct free_range *free_ranges;
static struct object *objects;
static uint32_t object_room, object_count;
static __thread uint64_t asked_now;
static struct vm vms[MOST_VMS];
static struct queue queues[MOST_QUEUES];

/* The file, made at first use; callers hold no lock. */
static int make_file(void) {
    const int made = memfd_create("visim device memory", MFD_CLOEXEC);
    if (made < 0) return -errno;
    for (file_bytes = FILE_BYTES; file_bytes >= SMALLEST_FILE; file_bytes /= 2)
        if (ftruncate(made, (off_t)file_bytes) == 0) break;
    void *words = file_bytes < SMALLEST_FILE
                      ? MAP_FAILED
                      : mmap(NULL, STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (words == MAP_FAILED) {
        real_close(made);
        return -ENOMEM;
    }
    status_words = words;
    return made;
}

int memory_file(void) {
    pthread_mutex_lock(&lock);
    if (file < 0) file = make_file();
    pthread_mutex_unlock(&lock);
    return file;
}

static uint64_t aligned(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

/* Called by `vendor.c` before and, with 0, after this thread makes a buffer. */
void visim_program_asks(uint64_t size) { asked_now = size; }

static uint64_t asked_of(uint64_t size) {
    const bool is_it = size == aligned(asked_now, PAGE) || size == aligned(asked_now, OBJECT_ALIGNMENT);
    return is_it ? asked_now : 0;
}

static uint64_t take_range(uint64_t size) {
    for (struct free_range **at = &free_ranges; *at; at = &(*at)->next) {
        struct free_range *found = *at;
        if (found->size < size) continue;
        const uint64_t offset = found->offset;
        found->offset += size;
        found->size -= size;
        if (!found->size) {
            *at = found->next;
            free(found);
        }
        return offset;
    }
    if (file_end + size > file_bytes) return 0;
    const uint64_t offset = file_end;
    file_end += size;
    return offset;
}

static void give_range(uint64_t offset, uint64_t size) {
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
    struct free_range *range = malloc(sizeof *range);
    if (!range) return; /* The range is lost, its memory is not. */
    *range = (struct free_range){offset, size, free_ranges};
    free_ranges = range;
}

static struct object *object_at(uint32_t handle) {
    if (!handle || handle > object_count || !objects[handle - 1].size) return NULL;
    return &objects[handle - 1];
}

static uint32_t free_handle(void) {
    for (uint32_t i = 0; i < object_count; i++)
        if (!objects[i].size) return i + 1;
    if (object_count == object_room) {
        const uint32_t room = object_room ? object_room * 2 : 256;
        struct object *more = room > MOST_OBJECTS ? NULL : realloc(objects, room * sizeof *more);
        if (!more) return 0;
        objects = more;
        object_room = room;
    }
    return ++object_count;
}

static void drop_object(struct object *object) {
    if (object->is_open || object->uses) return;
    give_range(object->offset, aligned(object->size, OBJECT_ALIGNMENT));
    used[object->placement & PLACE_VRAM ? 1 : 0] -= object->size;
    object->size = 0;
}

int create_object(const struct model *model, struct xe_gem_create *request) {
    const uint32_t known = PLACE_SYSTEM | (model->vram_bytes ? PLACE_VRAM : 0);
    if (request->extensions || !request->size || request->size % PAGE) return -EINVAL;
    if (!request->placement || request->placement & ~known) return -EINVAL;
    const bool in_vram = request->placement & PLACE_VRAM;
    const uint64_t most = in_vram ? model->vram_bytes : model->system_bytes;
    pthread_mutex_lock(&lock);
    int result = 0;
    const uint32_t handle = free_handle();
    if (request->size > most || used[in_vram] > most - request->size || !handle) {
        if (handle) objects[handle - 1] = (struct object){0};
        result = -ENOMEM;
    } else {
        const uint64_t offset = take_range(aligned(request->size, OBJECT_ALIGNMENT));
        objects[handle - 1] = (struct object){.offset = offset,
                                              .size = offset ? request->size : 0,
                                              .asked = asked_of(request->size),
                                              .placement = request->placement,
                                              .is_open = true};
        if (offset) used[in_vram] += request->size;
        request->handle = handle;
        result = offset ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

int object_offset(uint32_t handle, uint64_t *offset) {
    pthread_mutex_lock(&lock);
    const struct object *object = object_at(handle);
    if (object) *offset = object->offset;
    pthread_mutex_unlock(&lock);
    return object ? 0 : -ENOENT;
}

int close_object(uint32_t handle) {
    pthread_mutex_lock(&lock);
    struct object *object = object_at(handle);
    const bool was_open = object && object->is_open;
    if (was_open) {
        object->is_open = false;
        drop_object(object);
    }
    pthread_mutex_unlock(&lock);
    return was_open ? 0 : -EINVAL;
}

static struct vm *vm_at(uint32_t id) {
    return id && id < MOST_VMS && vms[id].exists ? &vms[id] : NULL;
}

int create_vm(int device, struct xe_vm_create *request) {
    if (request->extensions) return -EINVAL;
    pthread_mutex_lock(&lock);
    uint32_t id = 1;
    while (id < MOST_VMS && vms[id].exists) id++;
    if (id < MOST_VMS) {
        vms[id] = (struct vm){.exists = true, .device = device, .process = {-1}};
        pthread_mutex_init(&vms[id].lock, NULL);
        request->vm = id;
    }
    pthread_mutex_unlock(&lock);
    return id < MOST_VMS ? 0 : -ENOSPC;
}

/* Ends the use of objects by mappings [first, end) and removes these from the list. */
static void remove_mapping(struct vm *vm, size_t place) {
    struct object *object = object_at(vm->mappings[place].object);
    if (object) {
        object->uses--;
        drop_object(object);
    }
    vm->mappings[place] = vm->mappings[--vm->count];
}

int destroy_vm(uint32_t id) {
    struct vm *vm = vm_at(id);
    if (!vm) return -ENOENT;
    pthread_mutex_lock(&vm->lock);
    pthread_mutex_lock(&lock);
    const bool was_there = vm->exists;
    while (was_there && vm->count) remove_mapping(vm, vm->count - 1);
    if (was_there) free(vm->mappings);
    vm->mappings = NULL;
    vm->room = 0;
    vm->exists = false;
    pthread_mutex_unlock(&lock);
    if (vm->is_running) {
        const struct message message = {.kind = MESSAGE_END};
        ask_process(&vm->process, &message, -1);
        vm->is_running = false;
    }
    end_process(&vm->process);
    pthread_mutex_unlock(&vm->lock);
    return was_there ? 0 : -ENOENT;
}

static struct message mapping_message(const struct mapping *mapping) {
    return (struct message){.kind = mapping->kind == BIND_USERPTR ? MESSAGE_MAP_PROGRAM
                                                                  : MESSAGE_MAP,
                            .flags = mapping->flags,
                            .address = mapping->address,
                            .size = mapping->range,
                            .place = mapping->offset,
                            .value = mapping->asked};
}

static int add_mapping(struct vm *vm, const struct mapping *mapping) {
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

static uint64_t canonical(uint64_t address, const struct model *model) {
    return address & ((1ull << (model->address_bits > 48 ? 57 : 48)) - 1);
}

/* Checks a MAP and gives its object one more use. */
static int new_mapping(const struct xe_bind_op *op, uint64_t address, struct mapping *mapping) {
    *mapping = (struct mapping){.address = address,
                                .range = op->range,
                                .kind = op->op,
                                .offset = op->offset,
                                .flags = op->flags & BIND_READ_ONLY};
    if (op->op == BIND_USERPTR) return op->flags & (BIND_NULL | BIND_MIRROR) ? -EINVAL : 0;
    if (op->flags & (BIND_MIRROR | BIND_NULL)) return -EOPNOTSUPP;
    struct object *object = object_at(op->object);
    if (!object) return -ENOENT;
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
            result = address % PAGE ? -EINVAL : new_mapping(op, address, &mapping);
            if (result == 0) result = add_mapping(vm, &mapping);
            *message = mapping_message(&mapping);
            return result;
        case BIND_UNMAP: return unmap(vm, address, op->range, is_shown);
        case BIND_PREFETCH: *is_shown = false; return 0;
        default: return -EOPNOTSUPP;
    }
}

static int bind_one(struct vm *vm, const struct xe_bind_op *op) {
    struct message message;
    bool is_shown;
    if (op->flags & ~(uint32_t)BIND_KNOWN_FLAGS) return -EINVAL;
    if (op->extensions || (op->op != BIND_UNMAP_ALL && (!op->range || op->range % PAGE)))
        return -EINVAL;
    if (op->range > LARGEST_RANGE) return -EINVAL;
    pthread_mutex_lock(&vm->lock);
    pthread_mutex_lock(&lock);
    int result = change_mappings(vm, op, &message, &is_shown);
    pthread_mutex_unlock(&lock);
    if (result == 0 && is_shown && vm->is_running) {
        result = ask_process(&vm->process, &message, -1);
        if (result == -ECANCELED) result = 0; /* A lost VM can still be taken down. */
    }
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

static struct queue *queue_at(uint32_t id) {
    return id && id < MOST_QUEUES && queues[id].exists ? &queues[id] : NULL;
}

int create_queue(struct xe_queue_create *request) {
    if (!vm_at(request->vm)) return -ENOENT;
    if (request->width != 1 || !request->placements || !request->instances) return -EINVAL;
    struct xe_engine_id engine;
    if (copy_from_program(&engine, request->instances, sizeof engine)) return -EFAULT;
    pthread_mutex_lock(&lock);
    uint32_t id = 1;
    while (id < MOST_QUEUES && queues[id].exists) id++;
    if (id < MOST_QUEUES) {
        queues[id] = (struct queue){.exists = true,
                                    .vm = request->vm,
                                    .class_ = engine.class_,
                                    .instance = engine.instance,
                                    .socket = -1};
        status_words[id] = 0;
        request->queue = id;
    }
    pthread_mutex_unlock(&lock);
    return id < MOST_QUEUES ? 0 : -ENOSPC;
}

int destroy_queue(uint32_t id) {
    pthread_mutex_lock(&lock);
    struct queue *queue = queue_at(id);
    if (queue) {
        if (queue->socket >= 0) real_close(queue->socket);
        queue->exists = false;
    }
    pthread_mutex_unlock(&lock);
    return queue ? 0 : -ENOENT;
}

/* Starts a VM's process and tells it all mappings; the VM's lock is held. */
static int start_vm(struct vm *vm, uint32_t id) {
    if (vm->is_running) return 0;
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

/* Tells the VM's process of a queue, which gets a socket of its own. */
static int show_queue(struct vm *vm, struct queue *queue, uint32_t id) {
    int pair[2];
    if (queue->is_known) return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    const struct message message = {
        .kind = MESSAGE_QUEUE, .flags = queue->class_, .address = id, .size = queue->instance};
    const int result = ask_process(&vm->process, &message, pair[1]);
    real_close(pair[1]);
    queue->socket = pair[0];
    queue->is_known = result == 0;
    return result;
}

/* A VM's process only ends before it is asked to if it crashes, or somebody kills it. */
static void tell_end(struct vm *vm) {
    if (__atomic_exchange_n(&vm->is_told, true, __ATOMIC_RELAXED)) return;
    fprintf(stderr, "visim: the process that ran the kernels on %s has ended, and with it the "
                    "device; run the program with --engine interpreter, and report what it says\n",
            device_at(vm->device)->name);
}

int execute(const struct xe_exec *request) {
    struct queue *queue = queue_at(request->queue);
    struct vm *vm = queue ? vm_at(queue->vm) : NULL;
    if (!vm) return -ENOENT;
    if (request->extensions || request->batches > 1 || request->sync_count > 1) return -EINVAL;
    struct message message = {.kind = MESSAGE_RUN,
                              .flags = request->batches,
                              .address = canonical(request->batch, device_at(vm->device))};
    if (request->sync_count) {
        struct xe_sync sync;
        if (copy_from_program(&sync, request->syncs, sizeof sync)) return -EFAULT;
        if (sync.type != SYNC_USER_FENCE) return -EOPNOTSUPP;
        message.place = canonical(sync.address, device_at(vm->device));
        message.value = sync.value;
        queue->fence = message.place;
    }
    pthread_mutex_lock(&vm->lock);
    int result = start_vm(vm, queue->vm);
    if (result == 0) result = show_queue(vm, queue, request->queue);
    pthread_mutex_unlock(&vm->lock);
    if (result) return result == -ENODEV ? -ECANCELED : result;
    if (queue_is_lost(request->queue)) return -ECANCELED;
    const ssize_t sent = send(queue->socket, &message, sizeof message, MSG_NOSIGNAL);
    if (sent == sizeof message) return 0;
    tell_end(vm);
    return -ECANCELED;
}

bool queue_is_lost(uint32_t id) {
    const struct queue *queue = queue_at(id);
    struct vm *vm = queue ? vm_at(queue->vm) : NULL;
    if (!vm) return true;
    if (status_words && status_words[id]) vm->is_lost = true; /* Its other queues are, too. */
    if (vm->is_lost) return true;
    if (!vm->is_running || !process_is_gone(&vm->process)) return false;
    tell_end(vm);
    return true;
}

/* The driver, which knows that a queue is lost, waits for its batches all the same when it takes
 * its objects down, without an end and without asking; so it does for the other queues of the VM.
 * The number of the last batch that is done stands so far before the fence. */
void end_waiting(uint32_t id) {
    const struct queue *lost = queue_at(id);
    const uint64_t before = 0x800, most = 0x7fffffff;
    for (uint32_t one = 1; lost && one < MOST_QUEUES; one++) {
        const struct queue *queue = queue_at(one);
        if (!queue || queue->vm != lost->vm || queue->fence < before) continue;
        copy_to_program(queue->fence - before, &most, sizeof most);
        copy_to_program(queue->fence, &most, sizeof most);
    }
}

static bool is_met(const struct xe_wait *wait, uint64_t found) {
    const uint64_t a = found & wait->mask, b = wait->value & wait->mask;
    switch (wait->op) {
        case WAIT_EQUAL: return a == b;
        case WAIT_NOT_EQUAL: return a != b;
        case WAIT_GREATER: return a > b;
        case WAIT_AT_LEAST: return a >= b;
        case WAIT_LESS: return a < b;
        default: return a <= b;
    }
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int wait_fence(struct xe_wait *wait) {
    if (wait->extensions || wait->op > WAIT_AT_MOST || wait->flags & ~WAIT_ABSOLUTE)
        return -EINVAL;
    if (wait->address % 8 || !wait->address) return -EINVAL;
    const int64_t end = wait->flags & WAIT_ABSOLUTE ? wait->timeout : now_ns() + wait->timeout;
    long pause_ns = 2000;
    for (;;) {
        uint64_t found;
        if (copy_from_program(&found, wait->address, sizeof found)) return -EFAULT;
        if (is_met(wait, found)) return 0;
        if (wait->queue && queue_is_lost(wait->queue)) return -EIO;
        if (wait->timeout >= 0 && now_ns() >= end) return -ETIME;
        const struct timespec pause = {.tv_nsec = pause_ns};
        nanosleep(&pause, NULL);
        if (pause_ns < 200000) pause_ns += pause_ns / 2;
    }
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
    pthread_mutex_init(&lock, NULL);
    for (uint32_t i = 0; i < MOST_QUEUES; i++) {
        if (queues[i].exists && queues[i].socket >= 0) real_close(queues[i].socket);
        queues[i].socket = -1;
    }
    for (uint32_t i = 0; i < MOST_VMS; i++) {
        if (!vms[i].exists) continue;
        pthread_mutex_init(&vms[i].lock, NULL);
        end_process(&vms[i].process);
        vms[i].is_lost = true;
        vms[i].is_running = false;
    }
}
