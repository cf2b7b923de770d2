/* What the files of the `i915` device share. */
#ifndef VISIM_I915_H
#define VISIM_I915_H

#include "i915_uapi.h"
#include "objects.h"

enum { MOST_EXTENSIONS = 16 };

#pragma GCC visibility push(hidden)

/* i915_binding.c: where objects are in VMs. The VM's lock is held, but for what has no VM. */
int bind_object(struct vm *vm, uint32_t handle, uint64_t address);
void note_batch(uint32_t handle, const struct use *batch);
void sweep(struct vm *vm);
bool object_is_busy(uint32_t handle);
int await_object(uint32_t handle, int64_t timeout, int64_t *left);

/* i915_contexts.c */
int create_context(int device, struct i915_context_create *request);
int destroy_context(int device, uint32_t id);
int get_context_param(int device, struct i915_context_param *request);
int set_context_param(int device, const struct i915_context_param *request);
int reset_stats(int device, struct i915_reset_stats *request);
int context_queue(int device, uint32_t context, uint32_t engine, uint32_t *queue);

/* i915_queries.c */
int get_param(const struct model *model, const struct i915_getparam *request);
int answer_queries(const struct model *model, const struct i915_query *request);
bool has_engine(const struct model *model, struct i915_class_instance engine);

/* i915_executing.c */
int execute_buffer(int device, const struct i915_exec *request);

#pragma GCC visibility pop

#endif
