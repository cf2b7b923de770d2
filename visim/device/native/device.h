/* What the parts of the device library share: models, objects, and the processes of VMs.
 *
 * The library stands between a program's GPU driver and the kernel. It answers the ioctls of one
 * or more emulated render nodes; a VM's commands are executed by a process of its own
 * (`vmprocess.c`), which shares all memory objects through one file without a name.
 */
#ifndef VISIM_DEVICE_H
#define VISIM_DEVICE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"
#include "xe_uapi.h"

enum { MOST_DEVICES = 8, MASK_BYTES = 16, HWCONFIG_WORDS = 48, MOST_ENGINES = 16 };
enum { MOST_VMS = 256, MOST_OBJECTS = 1 << 20 };
enum { PAGE = 4096, OBJECT_ALIGNMENT = 1 << 16 };

/* A device as its driver is told of it; `models.h`, which is generated, has the table. */
struct model {
    const char *name;
    uint32_t device_id, revision;
    uint16_t ip_major, ip_minor, ip_revision;
    uint64_t vram_bytes, system_bytes;
    uint32_t clock_hz;
    uint8_t geometry[MASK_BYTES], compute[MASK_BYTES], l3[MASK_BYTES], eu[MASK_BYTES];
    uint16_t eu_type;
    uint32_t hwconfig[HWCONFIG_WORDS];
    uint32_t hwconfig_words;
    uint16_t engines[MOST_ENGINES];
    uint32_t engine_count;
    uint32_t address_bits;
};

/* Called by `vendor.c` before and, with 0, after a thread makes a buffer. */
void visim_program_asks(uint64_t size);

/* The library is loaded before all others: what it calls its own must not stand for theirs. */
#pragma GCC visibility push(hidden)

/* devices.c: which devices there are. */
const struct model *device_at(int index);
int device_count(void);
bool plays_i915(void);

/* usercopy.c: what requests point to; 0 or -EFAULT. */
int copy_from_program(void *here, uint64_t there, size_t size);
int copy_to_program(uint64_t there, const void *here, size_t size);

/* queries.c */
int answer_query(const struct model *model, struct xe_query *query);
uint64_t cycles_now(const struct model *model, uint64_t *cpu_time, int32_t clock);

/* objects.c: memory objects, VMs, queues. All return 0 or a negative errno. */
int memory_file(void);
int create_object(int device, struct xe_gem_create *request);
int object_offset(uint32_t handle, uint64_t *offset);
int close_object(int device, uint32_t handle);
int create_vm(int device, struct xe_vm_create *request);
int destroy_vm(uint32_t vm);
int bind_vm(const struct xe_vm_bind *request);
int create_queue(struct xe_queue_create *request);
int destroy_queue(uint32_t queue);
int execute(const struct xe_exec *request);
bool queue_is_lost(uint32_t queue);
void end_waiting(uint32_t queue);
int wait_fence(struct xe_wait *request);
void finish_all(void);
void forget_all_after_fork(void);

/* sharing.c: objects that several devices hold. */
int share_object(int device, struct drm_prime *request);
int take_shared(int device, struct drm_prime *request);
void forget_shared(int fd);

/* i915.c, i915_contexts.c */
int answer_i915(int device, unsigned command, void *argument);
int close_bound_object(int device, uint32_t handle);
void forget_contexts_after_fork(void);

/* vmprocess.c: the process in which a VM's commands run. */
struct vm_process {
    int socket;
};
int start_process(struct vm_process *process, const struct model *model, uint32_t vm);
int ask_process(struct vm_process *process, const struct message *message, int attached);
bool process_is_gone(const struct vm_process *process);
void end_process(struct vm_process *process);

/* interpose.c: functions of the C library as they are without this one. */
int real_close(int fd);

#pragma GCC visibility pop

#endif
