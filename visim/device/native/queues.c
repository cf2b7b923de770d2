/* Queues: batches on their way to the process of a VM, and waiting for them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "objects.h"

struct queue queues[MOST_QUEUES];

struct queue *queue_at(uint32_t id) {
    return id && id < MOST_QUEUES && queues[id].exists ? &queues[id] : NULL;
}

int make_queue(uint32_t vm, uint32_t class_, uint32_t instance, uint32_t *found) {
    pthread_mutex_lock(&tables_lock);
    uint32_t id = 1;
    while (id < MOST_QUEUES && queues[id].exists) id++;
    if (id < MOST_QUEUES) {
        queues[id] = (struct queue){
            .exists = true, .vm = vm, .class_ = class_, .instance = instance, .socket = -1};
        pthread_mutex_init(&queues[id].order, NULL);
        queues[id].sent = status_words[DONE_WORDS + id]; /* Numbers of earlier ones stay done. */
        status_words[id] = 0;
        *found = id;
    }
    pthread_mutex_unlock(&tables_lock);
    return id < MOST_QUEUES ? 0 : -ENOSPC;
}

int create_queue(struct xe_queue_create *request) {
    if (!vm_at(request->vm)) return -ENOENT;
    if (request->width != 1 || !request->placements || !request->instances) return -EINVAL;
    struct xe_engine_id engine;
    if (copy_from_program(&engine, request->instances, sizeof engine)) return -EFAULT;
    return make_queue(request->vm, engine.class_, engine.instance, &request->queue);
}

int destroy_queue(uint32_t id) {
    pthread_mutex_lock(&tables_lock);
    struct queue *queue = queue_at(id);
    if (queue) {
        if (queue->socket >= 0) real_close(queue->socket);
        queue->exists = false;
        status_words[DONE_WORDS + id] = queue->sent;
    }
    pthread_mutex_unlock(&tables_lock);
    return queue ? 0 : -ENOENT;
}

/* Tells the VM's process of a queue, which gets a socket of its own. */
int show_queue(struct vm *vm, struct queue *queue, uint32_t id) {
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

/* Sends a batch, which gets the next number. */
int send_batch(struct vm *vm, struct queue *queue, const struct message *message) {
    struct message numbered = *message;
    numbered.size = queue->sent + 1;
    if (send(queue->socket, &numbered, sizeof numbered, MSG_NOSIGNAL) == sizeof numbered) {
        queue->sent++;
        return 0;
    }
    tell_end(vm);
    return -ECANCELED;
}

/* Whether a batch is done, or never will be. */
bool is_done(const struct use *use) {
    if (queue_is_lost(use->queue)) return true;
    return (int32_t)(status_words[DONE_WORDS + use->queue] - use->number) >= 0;
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
    return send_batch(vm, queue, &message);
}

bool queue_is_lost(uint32_t id) {
    const struct queue *queue = queue_at(id);
    struct vm *vm = queue ? vm_at(queue->vm) : NULL;
    if (!vm) return true;
    if (status_words[id]) vm->is_lost = true; /* Its other queues are, too. */
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

int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* Sleeps, and makes the next pause longer. */
void pause_for(long *nanoseconds) {
    const struct timespec pause = {.tv_nsec = *nanoseconds};
    nanosleep(&pause, NULL);
    if (*nanoseconds < 200000) *nanoseconds += *nanoseconds / 2;
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
        pause_for(&pause_ns);
    }
}

