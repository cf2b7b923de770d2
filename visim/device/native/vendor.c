/* A library that loaders of OpenCL take for a driver: it loads the real one. Where launches are
 * watched, it notes how many bytes programs ask for when they make buffers, and has programs compiled
 * with the lines of their source. For drivers of 2022 it answers what they cannot.
 *
 * A driver's objects are whole pages, in which nobody sees where a buffer ends. All objects of a
 * driver share one table of functions; some of its entries are replaced by those here.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "device.h"
#include "vendor.h"

enum { WATCHED_PAGES = 2 * PAGE };

typedef uint64_t bits;

typedef void (*notify_type)(handle, void *);
typedef int32_t (*build_type)(handle, uint32_t, const handle *, const char *, notify_type, void *);
typedef int32_t (*compile_type)(handle, uint32_t, const handle *, const char *, uint32_t,
                                const handle *, const char **, notify_type, void *);
typedef handle (*create_type)(handle, bits, size_t, void *, int32_t *);
typedef handle (*create_with_type)(handle, const bits *, bits, size_t, void *, int32_t *);
typedef void *(*svm_type)(handle, bits, size_t, uint32_t);
typedef void *(*host_type)(handle, const bits *, size_t, uint32_t, int32_t *);
typedef void *(*device_type)(handle, handle, const bits *, size_t, uint32_t, int32_t *);
typedef function (*of_platform_type)(handle, const char *);

/* The driver's own functions. */
static struct {
    function build, compile, create, create_with, svm, host, device, shared, of_platform;
} real;

static void (*note_asked)(uint64_t);
static void *driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load_driver(void) {
    const char *path = getenv("VISIM_OPENCL");
    *(void **)&note_asked = dlsym(RTLD_DEFAULT, "visim_program_asks");
    driver = path && note_asked ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!driver) fprintf(stderr, "visim: the OpenCL driver cannot be loaded; visim doctor says more\n");
}

static void *driver_function(const char *name) {
    pthread_once(&once, load_driver);
    return driver ? dlsym(driver, name) : NULL;
}

/* A program's options behind those that keep lines; NULL if there is no memory. */
static char *with_lines(handle program, const char *options) {
    char *source = named_source(program), *made = NULL;
    if (asprintf(&made, "-g %s%s", source ? source : "", options ? options : "") < 0) made = NULL;
    free(source);
    return made;
}

static int32_t build(handle program, uint32_t count, const handle *devices, const char *options,
                     notify_type notify, void *data) {
    char *more = with_lines(program, options);
    const int32_t result = ((build_type)real.build)(program, count, devices, more ? more : options,
                                                    notify, data);
    free(more);
    return result;
}

static int32_t compile(handle program, uint32_t count, const handle *devices, const char *options,
                       uint32_t header_count, const handle *headers, const char **names,
                       notify_type notify, void *data) {
    char *more = with_lines(program, options);
    const int32_t result =
        ((compile_type)real.compile)(program, count, devices, more ? more : options, header_count,
                                     headers, names, notify, data);
    free(more);
    return result;
}

static handle create(handle context, bits flags, size_t size, void *host, int32_t *error) {
    note_asked(size);
    handle made = ((create_type)real.create)(context, flags, size, host, error);
    note_asked(0);
    return made;
}

static handle create_with(handle context, const bits *properties, bits flags, size_t size,
                          void *host, int32_t *error) {
    note_asked(size);
    handle made = ((create_with_type)real.create_with)(context, properties, flags, size, host, error);
    note_asked(0);
    return made;
}

static void *svm(handle context, bits flags, size_t size, uint32_t alignment) {
    note_asked(size);
    void *made = ((svm_type)real.svm)(context, flags, size, alignment);
    note_asked(0);
    return made;
}

static void *host(handle context, const bits *properties, size_t size, uint32_t alignment,
                  int32_t *error) {
    note_asked(size);
    void *made = ((host_type)real.host)(context, properties, size, alignment, error);
    note_asked(0);
    return made;
}

static void *on_device(handle context, handle device, const bits *properties, size_t size,
                       uint32_t alignment, int32_t *error) {
    note_asked(size);
    void *made = ((device_type)real.device)(context, device, properties, size, alignment, error);
    note_asked(0);
    return made;
}

static void *shared(handle context, handle device, const bits *properties, size_t size,
                    uint32_t alignment, int32_t *error) {
    note_asked(size);
    void *made = ((device_type)real.shared)(context, device, properties, size, alignment, error);
    note_asked(0);
    return made;
}

static bool is_set_to(const char *variable, const char *value) {
    const char *found = getenv(variable);
    return found && strcmp(found, value) == 0;
}

static bool watches(void) { return is_set_to("VISIM_WATCHES", "1"); }

/* What stands for a function of the driver's, if one does; keeps the driver's own. */
static function watched(const char *name, function own) {
    const struct {
        const char *name;
        function *real, ours;
    } table[] = {
        {"clHostMemAllocINTEL", &real.host, (function)host},
        {"clDeviceMemAllocINTEL", &real.device, (function)on_device},
        {"clSharedMemAllocINTEL", &real.shared, (function)shared},
        {"clCreateBufferWithPropertiesINTEL", &real.create_with, (function)create_with},
    };
    for (size_t i = 0; own && i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0) {
            *table[i].real = own;
            return table[i].ours;
        }
    return own;
}

static function of_platform(handle platform, const char *name) {
    return name ? watched(name, ((of_platform_type)real.of_platform)(platform, name)) : NULL;
}

static void replace(function *table, int place, function ours, function *own) {
    if (table[place] == ours) return;
    *own = table[place];
    table[place] = ours;
}

static void watch(function *table) {
    replace(table, CREATE_BUFFER, (function)create, &real.create);
    replace(table, BUILD_PROGRAM, (function)build, &real.build);
    replace(table, COMPILE_PROGRAM, (function)compile, &real.compile);
    replace(table, CREATE_WITH_PROPERTIES, (function)create_with, &real.create_with);
    replace(table, SVM_ALLOC, (function)svm, &real.svm);
    replace(table, FUNCTION_OF_PLATFORM, (function)of_platform, &real.of_platform);
}

static void stand_before(function *table) {
    const uintptr_t first = (uintptr_t)table & ~(uintptr_t)(PAGE - 1);
    if (mprotect((void *)first, WATCHED_PAGES, PROT_READ | PROT_WRITE) != 0) return;
    if (watches()) watch(table);
    if (is_set_to("VISIM_KERNEL_DRIVER", "i915")) answer_for_arguments(table);
}

int32_t clIcdGetPlatformIDsKHR(uint32_t count, handle *platforms, uint32_t *found) {
    int32_t (*own)(uint32_t, handle *, uint32_t *);
    *(void **)&own = driver_function("clIcdGetPlatformIDsKHR");
    if (!own) return -1001;
    const int32_t result = own(count, platforms, found);
    if (result == 0 && count && platforms) stand_before(**(function ***)platforms);
    return result;
}

int32_t clGetPlatformInfo(handle platform, uint32_t what, size_t size, void *value, size_t *needed) {
    int32_t (*own)(handle, uint32_t, size_t, void *, size_t *);
    *(void **)&own = driver_function("clGetPlatformInfo");
    return own ? own(platform, what, size, value, needed) : -1001;
}

void *clGetExtensionFunctionAddress(const char *name) {
    void *(*own)(const char *);
    if (!name) return NULL;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) return (void *)clIcdGetPlatformIDsKHR;
    if (strcmp(name, "clGetPlatformInfo") == 0) return (void *)clGetPlatformInfo;
    *(void **)&own = driver_function("clGetExtensionFunctionAddress");
    if (!own) return NULL;
    function found = (function)own(name);
    return (void *)(watches() ? watched(name, found) : found);
}
