/* The tables behind the handles that drivers hold: objects, VMs and queues.
 *
 * For the files that keep them. `tables_lock` guards objects, and which VMs and queues there are;
 * a VM's own lock, which is taken first, guards its mappings and its process.
 */
#ifndef VISIM_OBJECTS_H
#define VISIM_OBJECTS_H

#include "device.h"

/* A batch that uses an object. */
struct use {
    uint32_t queue, number;
};

struct object {
    uint64_t offset, size; /* size 0: the handle is free */
    uint64_t asked;        /* what the program asked for; 0 is not known */
    uint64_t program;      /* where it is, if it is the program's own memory; else 0 */
    uint32_t uses, placement;
    int maker;       /* the device whose memory it takes */
    uint8_t open_on; /* a bit for each device that holds its handle */
    bool is_read_only;
    struct use *batches; /* the last one of each queue; only i915 asks for them */
    uint32_t batch_count, batch_room;
};

struct mapping {
    uint64_t address, range, offset, asked;
    uint32_t kind, object, flags;
};

struct vm {
    bool exists, is_running, is_lost, is_told, is_forked, has_closed;
    int device;
    struct mapping *mappings;
    size_t count, room;
    struct vm_process process;
    pthread_mutex_t lock; /* one request to the process at a time */
};

struct queue {
    bool exists, is_known;
    uint32_t vm, class_, instance;
    uint32_t sent; /* the number of its last batch */
    pthread_mutex_t order; /* taken first: one batch of i915's at a time gets its number */
    int socket;
    uint64_t fence; /* of its last batch; 0 if there was none */
};

#pragma GCC visibility push(hidden)

extern pthread_mutex_t tables_lock;
extern struct vm vms[MOST_VMS];
extern struct queue queues[MOST_QUEUES];
extern volatile uint32_t *status_words; /* a VM's process writes them, too */

/* objects.c */
int make_object(int device, uint64_t size, uint32_t placement, uint32_t *handle);
int make_program_object(int device, uint64_t program, uint64_t size, bool is_read_only,
                        uint32_t *handle);
struct object *object_at(uint32_t handle);
bool leave_handle(int device, struct object *object);
void end_use(uint32_t handle);
uint64_t aligned(uint64_t size, uint64_t to);

/* vms.c */
int make_vm(int device, uint32_t *id);
struct vm *vm_at(uint32_t id);
uint64_t canonical(uint64_t address, const struct model *model);
int add_mapping(struct vm *vm, const struct mapping *mapping);
void remove_mapping(struct vm *vm, size_t place);
struct message mapping_message(const struct mapping *mapping);
int tell_process(struct vm *vm, const struct message *message);
int start_vm(struct vm *vm, uint32_t id);
void tell_fork(struct vm *vm);

/* queues.c */
int make_queue(uint32_t vm, uint32_t class_, uint32_t instance, uint32_t *id);
struct queue *queue_at(uint32_t id);
int show_queue(struct vm *vm, struct queue *queue, uint32_t id);
int send_batch(struct vm *vm, struct queue *queue, const struct message *message);
bool is_done(const struct use *use);
int64_t now_ns(void);
void pause_for(long *nanoseconds);

#pragma GCC visibility pop

#endif
