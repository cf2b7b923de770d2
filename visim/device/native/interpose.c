/* The functions of the C library through which a driver reaches its device.
 *
 * A device's file is a duplicate of the memory file, so that mmap works on it without us. Paths
 * below /sys and /dev/dri that a driver looks for are those of a small tree of our own, which
 * hides the devices that the machine has.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "device.h"

#define REAL(result, name, ...)                                  \
    static result (*real_##name)(__VA_ARGS__);                   \
    if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

enum { MOST_FILES = 1 << 16, IOCTL_TYPE = 'd', LARGEST_REQUEST = 256 };
static const char RENDER_NODE[] = "/dev/dri/renderD";
static const char *const PREFIXES[] = {"/dev/dri",
                                       "/sys/dev/char/226:",
                                       "/sys/class/drm",
                                       "/sys/bus/pci/devices",
                                       "/sys/devices/visim",
                                       "/sys/class/intel_pmt"};

/* 1 + the device's index, for each file descriptor that is one. */
static uint8_t device_of_file[MOST_FILES];

static int device_of(int fd) {
    return fd >= 0 && fd < MOST_FILES
               ? __atomic_load_n(&device_of_file[fd], __ATOMIC_RELAXED) - 1
               : -1;
}

int real_close(int fd) {
    REAL(int, close, int);
    return real_close(fd);
}

/* A path's place in our tree, if it is one of those that we answer for. */
static const char *redirected(const char *path, char room[PATH_MAX]) {
    const char *tree = getenv("VISIM_DEVICE_TREE");
    if (!path || !tree) return path;
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++) {
        if (strncmp(path, PREFIXES[i], strlen(PREFIXES[i])) != 0) continue;
        return snprintf(room, PATH_MAX, "%s%s", tree, path) < PATH_MAX ? room : path;
    }
    return path;
}

static bool node_of(const char *path, int *device) {
    if (!path || strncmp(path, RENDER_NODE, sizeof RENDER_NODE - 1) != 0) return false;
    char *end;
    const long minor_ = strtol(path + sizeof RENDER_NODE - 1, &end, 10);
    *device = *end ? -1 : (int)(minor_ - FIRST_RENDER_MINOR);
    return true;
}

static int open_device(int device, int flags) {
    if (!device_at(device)) {
        errno = ENOENT;
        return -1;
    }
    const int memory = memory_file();
    if (memory < 0) {
        errno = ENOMEM;
        return -1;
    }
    const int fd = fcntl(memory, flags & O_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD, 0);
    if (fd >= MOST_FILES) {
        real_close(fd);
        errno = EMFILE;
        return -1;
    }
    if (fd >= 0) __atomic_store_n(&device_of_file[fd], (uint8_t)(device + 1), __ATOMIC_RELAXED);
    return fd;
}

static bool has_mode(int flags) { return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE; }

#define DEFINE_OPEN(name)                                                \
    int name(const char *path, int flags, ...) {                         \
        REAL(int, name, const char *, int, ...);                         \
        char room[PATH_MAX];                                             \
        int device;                                                      \
        mode_t mode = 0;                                                 \
        if (has_mode(flags)) {                                           \
            va_list rest;                                                \
            va_start(rest, flags);                                       \
            mode = va_arg(rest, mode_t);                                 \
            va_end(rest);                                                \
        }                                                                \
        if (node_of(path, &device)) return open_device(device, flags);   \
        return real_##name(redirected(path, room), flags, mode);         \
    }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

/* What `open` is in programs that were compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags) { return open(path, flags); }
int __open64_2(const char *path, int flags) { return open64(path, flags); }

/* Intel's compiler writes the vISA text that it was asked to keep to this file, too, wherever the
 * program happens to be. Nobody reads it. */
static bool is_left_by_compiler(const char *path, const char *mode) {
    return path && mode && mode[0] == 'w' && strcmp(path, "kernel.visaasm") == 0;
}

FILE *fopen(const char *path, const char *mode) {
    REAL(FILE *, fopen, const char *, const char *);
    char room[PATH_MAX];
    return real_fopen(is_left_by_compiler(path, mode) ? "/dev/null" : redirected(path, room), mode);
}

FILE *fopen64(const char *path, const char *mode) {
    REAL(FILE *, fopen64, const char *, const char *);
    char room[PATH_MAX];
    return real_fopen64(is_left_by_compiler(path, mode) ? "/dev/null" : redirected(path, room),
                        mode);
}

/* Options that Intel's compiler adds to all programs, linked ones among them. The driver keeps no
 * binaries for later runs where it sees a variable of the compiler's, so there is none to see. */
char *getenv(const char *name) {
    REAL(char *, getenv, const char *);
    char *found = real_getenv(name);
    if (!found && strcmp(name, "IGC_ExtraOCLInternalOptions") == 0)
        found = real_getenv("VISIM_COMPILER_OPTIONS");
    return found;
}

DIR *opendir(const char *path) {
    REAL(DIR *, opendir, const char *);
    char room[PATH_MAX];
    return real_opendir(redirected(path, room));
}

int access(const char *path, int mode) {
    REAL(int, access, const char *, int);
    char room[PATH_MAX];
    return real_access(redirected(path, room), mode);
}

/* A program that the driver's loader has started asks for itself and would find the loader. */
static ssize_t own_path(const char *path, char *buffer, size_t size) {
    const char *own = getenv("VISIM_PROGRAM");
    if (!own || !path || strcmp(path, "/proc/self/exe") != 0) return -1;
    const size_t length = strlen(own) < size ? strlen(own) : size;
    memcpy(buffer, own, length);
    return (ssize_t)length;
}

ssize_t readlink(const char *path, char *buffer, size_t size) {
    REAL(ssize_t, readlink, const char *, char *, size_t);
    char room[PATH_MAX];
    const ssize_t own = own_path(path, buffer, size);
    if (own >= 0) return own;
    return real_readlink(redirected(path, room), buffer, size);
}

static bool stat_node(const char *path, struct stat *found) {
    int device;
    if (!node_of(path, &device) || !device_at(device)) return false;
    memset(found, 0, sizeof *found);
    found->st_mode = S_IFCHR | 0666;
    found->st_rdev = makedev(DRM_MAJOR, (unsigned)(FIRST_RENDER_MINOR + device));
    return true;
}

int stat(const char *path, struct stat *found) {
    REAL(int, stat, const char *, struct stat *);
    char room[PATH_MAX];
    if (stat_node(path, found)) return 0;
    return real_stat(redirected(path, room), found);
}

int lstat(const char *path, struct stat *found) {
    REAL(int, lstat, const char *, struct stat *);
    char room[PATH_MAX];
    if (stat_node(path, found)) return 0;
    return real_lstat(redirected(path, room), found);
}

static void show_as_device(int fd, mode_t *mode, dev_t *rdev) {
    *mode = S_IFCHR | 0666;
    *rdev = makedev(DRM_MAJOR, (unsigned)(FIRST_RENDER_MINOR + device_of(fd)));
}

int fstat(int fd, struct stat *found) {
    REAL(int, fstat, int, struct stat *);
    const int result = real_fstat(fd, found);
    if (result == 0 && device_of(fd) >= 0) show_as_device(fd, &found->st_mode, &found->st_rdev);
    return result;
}

int fstat64(int fd, struct stat64 *found) {
    REAL(int, fstat64, int, struct stat64 *);
    const int result = real_fstat64(fd, found);
    if (result == 0 && device_of(fd) >= 0) show_as_device(fd, &found->st_mode, &found->st_rdev);
    return result;
}

int close(int fd) {
    if (fd >= 0 && fd < MOST_FILES) __atomic_store_n(&device_of_file[fd], 0, __ATOMIC_RELAXED);
    forget_shared(fd);
    return real_close(fd);
}

static int fill(uint64_t at, uint64_t *length, const char *text) {
    const uint64_t whole = strlen(text), size = *length < whole ? *length : whole;
    *length = whole;
    return at ? copy_to_program(at, text, size) : 0;
}

static int answer_version(struct drm_version *version) {
    const bool is_i915 = plays_i915();
    version->major = 1;
    version->minor = is_i915 ? 6 : 0;
    version->patch = 0;
    const int name = fill(version->name, &version->name_length, is_i915 ? "i915" : "xe");
    const int date = fill(version->date, &version->date_length, is_i915 ? "20201103" : "20231201");
    const int more = fill(version->description, &version->description_length,
                          is_i915 ? "Intel Graphics" : "Intel Xe2 Graphics");
    return name ? name : date ? date : more;
}

static int get_property(struct xe_queue_property *request) {
    if (request->extensions || request->property != 0) return -EINVAL;
    request->value = queue_is_lost(request->queue);
    if (request->value) end_waiting(request->queue);
    return 0;
}

/* A page to which a program writes so that its earlier writes reach a card: nobody reads it. */
static int barrier_offset(const struct model *model, struct xe_gem_mmap_offset *request) {
    if (request->handle || !model->vram_bytes) return -EINVAL;
    request->offset = STATUS_BYTES - PAGE;
    return 0;
}

static int mmap_offset(const struct model *model, struct xe_gem_mmap_offset *request) {
    if (request->extensions || request->flags & ~MMAP_BARRIER) return -EINVAL;
    if (request->flags) return barrier_offset(model, request);
    return object_offset(request->handle, &request->offset);
}

static int answer_xe(int device, unsigned command, void *argument) {
    const struct model *model = device_at(device);
    switch (DRIVER_COMMANDS + command) {
        case XE_DEVICE_QUERY: return answer_query(model, argument);
        case XE_GEM_CREATE: return create_object(device, argument);
        case XE_GEM_MMAP_OFFSET: return mmap_offset(model, argument);
        case XE_VM_CREATE: return create_vm(device, argument);
        case XE_VM_DESTROY: return destroy_vm(((struct xe_vm_destroy *)argument)->vm);
        case XE_VM_BIND: return bind_vm(argument);
        case XE_QUEUE_CREATE: return create_queue(argument);
        case XE_QUEUE_DESTROY: return destroy_queue(((struct xe_queue_destroy *)argument)->queue);
        case XE_QUEUE_GET_PROPERTY: return get_property(argument);
        case XE_EXEC: return execute(argument);
        case XE_WAIT_USER_FENCE: return wait_fence(argument);
        default: return -EINVAL;
    }
}

static int answer(int device, unsigned command, void *argument) {
    const bool is_i915 = plays_i915();
    const uint32_t handle = ((struct drm_gem_close *)argument)->handle;
    switch (command) {
        case DRM_VERSION: return answer_version(argument);
        case DRM_GEM_CLOSE: return (is_i915 ? close_bound_object : close_object)(device, handle);
        case DRM_PRIME_HANDLE_TO_FD: return share_object(device, argument);
        case DRM_PRIME_FD_TO_HANDLE: return take_shared(device, argument);
        default: break;
    }
    if (command < DRIVER_COMMANDS) return -EINVAL;
    return (is_i915 ? answer_i915 : answer_xe)(device, command - DRIVER_COMMANDS, argument);
}

static void trace(int device, unsigned command, int result) {
    static int traced = -1;
    if (traced < 0) traced = getenv("VISIM_TRACE_IOCTLS") != NULL;
    if (traced) fprintf(stderr, "visim: device %d: ioctl %#x = %d\n", device, command, result);
}

/* As the kernel does: what a request lacks at its end is zero. */
static int answer_at(int device, unsigned long request, uint64_t argument) {
    uint64_t room[LARGEST_REQUEST / sizeof(uint64_t)] = {0};
    const size_t size = _IOC_SIZE(request);
    if (size > sizeof room) return -EINVAL;
    if (copy_from_program(room, argument, size)) return -EFAULT;
    const int result = answer(device, _IOC_NR(request), room);
    return copy_to_program(argument, room, size) ? -EFAULT : result;
}

int ioctl(int fd, unsigned long request, ...) {
    REAL(int, ioctl, int, unsigned long, ...);
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    const int device = device_of(fd);
    if (device < 0 || _IOC_TYPE(request) != IOCTL_TYPE)
        return real_ioctl(fd, request, argument);
    const int result = answer_at(device, request, (uint64_t)argument);
    trace(device, _IOC_NR(request), result);
    if (result == 0) return 0;
    errno = -result;
    return -1;
}

__attribute__((constructor)) static void begin(void) {
    pthread_atfork(NULL, NULL, forget_all_after_fork);
}

__attribute__((destructor)) static void end(void) { finish_all(); }
