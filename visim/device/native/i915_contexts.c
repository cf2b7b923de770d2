/* Contexts of i915: each has a VM and engines, with a queue for each engine that it uses. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>

#include "i915.h"

enum { MOST_CONTEXTS = 1024 };

struct engine {
    uint16_t class_, instance;
    uint32_t queue; /* 0 until it is used */
};

struct context {
    bool exists, has_own_vm, has_map;
    int device;
    uint32_t vm, engine_count;
    struct engine engines[MOST_ENGINES];
    int64_t values[CONTEXT_PARAMS];
};

static pthread_mutex_t contexts_lock = PTHREAD_MUTEX_INITIALIZER;
static struct context contexts[MOST_CONTEXTS];
static uint32_t default_contexts[MOST_DEVICES];

/* Which engines there are without a map, by the numbers that old programs have for them. */
static void set_default_engines(struct context *context) {
    static const struct engine ring[] = {{0, 0, 0}, {0, 0, 0}, {2, 0, 0}, {1, 0, 0}};
    context->has_map = false;
    context->engine_count = sizeof ring / sizeof *ring;
    for (uint32_t i = 0; i < context->engine_count; i++) context->engines[i] = ring[i];
}

static int new_context(int device, uint32_t *found) {
    uint32_t id = 1;
    while (id < MOST_CONTEXTS && contexts[id].exists) id++;
    if (id == MOST_CONTEXTS) return -ENOSPC;
    struct context *context = &contexts[id];
    *context = (struct context){.exists = true, .device = device};
    context->values[CONTEXT_BANNABLE] = context->values[CONTEXT_RECOVERABLE] = 1;
    context->values[CONTEXT_PERSISTENCE] = 1;
    set_default_engines(context);
    *found = id;
    return 0;
}

/* A context of a device; number 0 is one that each device has. */
static struct context *context_at(int device, uint32_t id) {
    if (id == 0) {
        uint32_t *own = &default_contexts[device];
        if (!*own && new_context(device, own)) return NULL;
        id = *own;
    }
    if (id >= MOST_CONTEXTS || !contexts[id].exists) return NULL;
    return contexts[id].device == device ? &contexts[id] : NULL;
}

/* Gives a context a VM of its own where it was given none. */
static int need_vm(struct context *context) {
    if (context->vm) return 0;
    context->has_own_vm = true;
    return make_vm(context->device, &context->vm);
}

static bool is_used(const struct context *context) {
    for (uint32_t i = 0; i < context->engine_count; i++)
        if (context->engines[i].queue) return true;
    return false;
}

static void drop_queues(struct context *context) {
    for (uint32_t i = 0; i < context->engine_count; i++) {
        const uint32_t id = context->engines[i].queue;
        const struct queue *queue = queue_at(id);
        if (!queue) continue;
        /* What a context has begun goes on without it; its queue then stays with the VM. */
        const struct use last = {id, queue->sent};
        if (is_done(&last)) destroy_queue(id);
    }
}

static void drop_context(struct context *context) {
    drop_queues(context);
    if (context->has_own_vm && context->vm) destroy_vm(context->vm);
    context->exists = false;
}

/* Puts one of several engines, of which any may be taken, into a map. */
static int balance(const struct model *model, struct context *context, uint64_t place) {
    struct i915_balanced_engines given;
    struct i915_class_instance first;
    if (copy_from_program(&given, place, sizeof given)) return -EFAULT;
    if (given.index >= context->engine_count || !given.count || given.flags) return -EINVAL;
    if (copy_from_program(&first, place + sizeof given, sizeof first)) return -EFAULT;
    if (!has_engine(model, first)) return -EINVAL;
    context->engines[given.index] = (struct engine){first.class_, first.instance, 0};
    return 0;
}

static int extend_map(const struct model *model, struct context *context, uint64_t place) {
    for (int i = 0; place && i < MOST_EXTENSIONS; i++) {
        struct i915_extension extension;
        if (copy_from_program(&extension, place, sizeof extension)) return -EFAULT;
        if (extension.name != ENGINES_BALANCED) return -EINVAL;
        const int result = balance(model, context, place);
        if (result) return result;
        place = extension.next;
    }
    return place ? -E2BIG : 0;
}

static int set_engines(struct context *context, const struct i915_context_param *request) {
    const struct model *model = device_at(context->device);
    struct i915_engine_map map;
    struct i915_class_instance given[MOST_ENGINES];
    struct context changed = *context;
    if (is_used(context)) return -EBUSY;
    if (!request->size) {
        set_default_engines(context);
        return 0;
    }
    if (request->size < sizeof map || (request->size - sizeof map) % sizeof *given) return -EINVAL;
    const size_t bytes = request->size - sizeof map, count = bytes / sizeof *given;
    if (count > MOST_ENGINES) return -EINVAL;
    if (copy_from_program(&map, request->value, sizeof map)) return -EFAULT;
    if (copy_from_program(given, request->value + sizeof map, bytes)) return -EFAULT;
    changed.has_map = true;
    changed.engine_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        if (given[i].class_ != ENGINE_INVALID && !has_engine(model, given[i])) return -EINVAL;
        changed.engines[i] = (struct engine){given[i].class_, given[i].instance, 0};
    }
    const int result = extend_map(model, &changed, map.extensions);
    if (result == 0) *context = changed;
    return result;
}

static int set_vm(struct context *context, uint64_t id) {
    const struct vm *vm = id < MOST_VMS ? vm_at((uint32_t)id) : NULL;
    if (!vm || vm->device != context->device) return -ENOENT;
    if (context->vm) return -EBUSY;
    context->vm = (uint32_t)id;
    return 0;
}

static int set_param(struct context *context, const struct i915_context_param *request) {
    const int64_t value = (int64_t)request->value;
    switch (request->param) {
        case CONTEXT_VM: return request->size ? -EINVAL : set_vm(context, request->value);
        case CONTEXT_ENGINES: return set_engines(context, request);
        case CONTEXT_PRIORITY:
            if (request->size || value < -MOST_PRIORITY || value > MOST_PRIORITY) return -EINVAL;
            break;
        case CONTEXT_NO_ERROR_CAPTURE:
        case CONTEXT_BANNABLE:
        case CONTEXT_RECOVERABLE:
        case CONTEXT_PERSISTENCE:
            if (request->size) return -EINVAL;
            break;
        case CONTEXT_SLICES: return -ENODEV; /* Slices cannot be switched off. */
        default: return -EINVAL;
    }
    context->values[request->param] = value;
    return 0;
}

static int get_param_of(struct context *context, struct i915_context_param *request) {
    int result;
    switch (request->param) {
        case CONTEXT_ADDRESS_BYTES:
            request->value = 1ull << device_at(context->device)->address_bits;
            break;
        case CONTEXT_VM:
            result = need_vm(context);
            if (result) return result;
            request->value = context->vm;
            break;
        case CONTEXT_NO_ERROR_CAPTURE:
        case CONTEXT_BANNABLE:
        case CONTEXT_PRIORITY:
        case CONTEXT_RECOVERABLE:
        case CONTEXT_PERSISTENCE:
            request->value = (uint64_t)context->values[request->param];
            break;
        case CONTEXT_SLICES: return -ENODEV;
        default: return -EINVAL;
    }
    request->size = 0;
    return 0;
}

static int extend_context(struct context *context, uint64_t place) {
    for (int i = 0; place && i < MOST_EXTENSIONS; i++) {
        struct i915_context_set_param extension;
        if (copy_from_program(&extension, place, sizeof extension)) return -EFAULT;
        if (extension.base.name != CONTEXT_SET_PARAM || extension.param.context) return -EINVAL;
        const int result = set_param(context, &extension.param);
        if (result) return result;
        place = extension.base.next;
    }
    return place ? -E2BIG : 0;
}

int create_context(int device, struct i915_context_create *request) {
    const bool is_extended = request->flags & CONTEXT_USES_EXTENSIONS;
    uint32_t id;
    if (request->flags & ~(uint32_t)CONTEXT_KNOWN_FLAGS) return -EINVAL;
    pthread_mutex_lock(&contexts_lock);
    int result = new_context(device, &id);
    if (result == 0) {
        if (is_extended) result = extend_context(&contexts[id], request->extensions);
        if (result == 0) result = need_vm(&contexts[id]);
        if (result) drop_context(&contexts[id]);
        request->context = id;
    }
    pthread_mutex_unlock(&contexts_lock);
    return result;
}

int destroy_context(int device, uint32_t id) {
    pthread_mutex_lock(&contexts_lock);
    struct context *context = id ? context_at(device, id) : NULL;
    const bool is_default = context && id == default_contexts[device];
    if (context && !is_default) drop_context(context);
    pthread_mutex_unlock(&contexts_lock);
    return context && !is_default ? 0 : -ENOENT;
}

int get_context_param(int device, struct i915_context_param *request) {
    pthread_mutex_lock(&contexts_lock);
    struct context *context = context_at(device, request->context);
    const int result = context ? get_param_of(context, request) : -ENOENT;
    pthread_mutex_unlock(&contexts_lock);
    return result;
}

int set_context_param(int device, const struct i915_context_param *request) {
    pthread_mutex_lock(&contexts_lock);
    struct context *context = context_at(device, request->context);
    const int result = context ? set_param(context, request) : -ENOENT;
    pthread_mutex_unlock(&contexts_lock);
    return result;
}

/* A lost context is one whose batch was on the device when it hung. */
int reset_stats(int device, struct i915_reset_stats *request) {
    if (request->flags || request->pad) return -EINVAL;
    pthread_mutex_lock(&contexts_lock);
    const struct context *context = context_at(device, request->context);
    request->resets = request->batches_active = request->batches_pending = 0;
    for (uint32_t i = 0; context && i < context->engine_count; i++)
        if (context->engines[i].queue && queue_is_lost(context->engines[i].queue))
            request->batches_active = 1;
    pthread_mutex_unlock(&contexts_lock);
    return context ? 0 : -ENOENT;
}

static int engine_queue(struct context *context, uint32_t number, uint32_t *queue) {
    struct engine *engine = number < context->engine_count ? &context->engines[number] : NULL;
    if (!engine) return -EINVAL;
    if (!engine->queue) {
        const struct i915_class_instance id = {engine->class_, engine->instance};
        if (!has_engine(device_at(context->device), id)) return -EINVAL;
        int result = need_vm(context);
        if (result == 0) result = make_queue(context->vm, id.class_, id.instance, &engine->queue);
        if (result) return result;
    }
    *queue = engine->queue;
    return 0;
}

/* Finds the queue of one of a context's engines; it is made when it is first asked for. */
int context_queue(int device, uint32_t id, uint32_t engine, uint32_t *queue) {
    pthread_mutex_lock(&contexts_lock);
    struct context *context = context_at(device, id);
    const int result = context ? engine_queue(context, engine, queue) : -ENOENT;
    pthread_mutex_unlock(&contexts_lock);
    return result;
}

void forget_contexts_after_fork(void) { pthread_mutex_init(&contexts_lock, NULL); }
