/* Memory objects: ranges of one sparse file in memory, or memory of the program itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "objects.h"

#define FILE_BYTES (1ull << 40)
#define SMALLEST_FILE (1ull << 34)

struct free_range {
    uint64_t offset, size;
    struct free_range *next;
};

pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static int file = -1;
static uint64_t file_bytes, file_end = STATUS_BYTES, used_vram[MOST_DEVICES], used_system;
volatile uint32_t *status_words;
static struct free_range *free_ranges;
static struct object *objects;
static uint32_t object_room, object_count;
static __thread uint64_t asked_now;

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
    pthread_mutex_lock(&tables_lock);
    if (file < 0) file = make_file();
    pthread_mutex_unlock(&tables_lock);
    return file;
}

uint64_t aligned(uint64_t size, uint64_t to) { return (size + to - 1) / to * to; }

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

struct object *object_at(uint32_t handle) {
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

/* How much is taken of the memory that an object is in. */
static uint64_t *used_of(const struct object *object) {
    return object->placement & PLACE_VRAM ? &used_vram[object->maker] : &used_system;
}

static void drop_object(struct object *object) {
    if (object->open_on || object->uses) return;
    if (!object->program) {
        give_range(object->offset, aligned(object->size, OBJECT_ALIGNMENT));
        *used_of(object) -= object->size;
    }
    free(object->batches);
    *object = (struct object){.size = 0};
}

/* Ends one use of an object, if there is one; the tables' lock is held. */
void end_use(uint32_t handle) {
    struct object *object = object_at(handle);
    if (!object) return;
    object->uses--;
    drop_object(object);
}

/* Takes memory of the file for an object; its handle is free, and the lock held. */
static int fill_object(struct object *object, const struct object *wanted) {
    const uint64_t offset = take_range(aligned(wanted->size, OBJECT_ALIGNMENT));
    if (!offset) return -ENOMEM;
    *object = *wanted;
    object->offset = offset;
    *used_of(wanted) += wanted->size;
    return 0;
}

/* Gives an object a handle. */
static int add_object(const struct object *wanted, uint64_t most, uint32_t *handle) {
    const uint64_t taken = *used_of(wanted);
    if (wanted->size > most || (!wanted->program && taken > most - wanted->size)) return -ENOMEM;
    const uint32_t found = free_handle();
    if (!found) return -ENOMEM;
    struct object *object = &objects[found - 1];
    *object = (struct object){.size = 0};
    if (wanted->program)
        *object = *wanted;
    else if (fill_object(object, wanted))
        return -ENOMEM;
    *handle = found;
    return 0;
}

static uint8_t bit_of(int device) { return (uint8_t)(1u << device); }

int make_object(int device, uint64_t size, uint32_t placement, uint32_t *handle) {
    const struct model *model = device_at(device);
    const bool in_vram = placement & PLACE_VRAM;
    const struct object wanted = {.size = size,
                                  .asked = asked_of(size),
                                  .placement = placement,
                                  .maker = device,
                                  .open_on = bit_of(device)};
    pthread_mutex_lock(&tables_lock);
    const int result =
        add_object(&wanted, in_vram ? model->vram_bytes : model->system_bytes, handle);
    pthread_mutex_unlock(&tables_lock);
    return result;
}

int make_program_object(int device, uint64_t program, uint64_t size, bool is_read_only,
                        uint32_t *handle) {
    const struct object wanted = {.size = size,
                                  .program = program,
                                  .placement = PLACE_SYSTEM,
                                  .maker = device,
                                  .open_on = bit_of(device),
                                  .is_read_only = is_read_only};
    pthread_mutex_lock(&tables_lock);
    const int result = add_object(&wanted, UINT64_MAX, handle);
    pthread_mutex_unlock(&tables_lock);
    return result;
}

int create_object(int device, struct xe_gem_create *request) {
    const uint32_t known = PLACE_SYSTEM | (device_at(device)->vram_bytes ? PLACE_VRAM : 0);
    if (request->extensions || !request->size || request->size % PAGE) return -EINVAL;
    if (!request->placement || request->placement & ~known) return -EINVAL;
    return make_object(device, request->size, request->placement, &request->handle);
}

int object_offset(uint32_t handle, uint64_t *offset) {
    pthread_mutex_lock(&tables_lock);
    const struct object *object = object_at(handle);
    const bool is_in_file = object && !object->program;
    if (is_in_file) *offset = object->offset;
    pthread_mutex_unlock(&tables_lock);
    return is_in_file ? 0 : object ? -ENODEV : -ENOENT;
}

/* Takes an object's handle from a device; false if it has none. The tables' lock is held. */
bool leave_handle(int device, struct object *object) {
    if (!object || !(object->open_on & bit_of(device))) return false;
    object->open_on &= (uint8_t)~bit_of(device);
    return true;
}

int close_object(int device, uint32_t handle) {
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(handle);
    const bool was_open = leave_handle(device, object);
    if (was_open) drop_object(object);
    pthread_mutex_unlock(&tables_lock);
    return was_open ? 0 : -EINVAL;
}

