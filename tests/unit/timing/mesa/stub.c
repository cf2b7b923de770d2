#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int stub = -1;
static uint32_t chip(void) { const char *t = getenv("STUB_CHIP"); return t ? strtoul(t, 0, 16) : 0x0126; }

typedef struct { uint16_t domain; uint8_t bus, dev, func; } Bus;
typedef struct { uint16_t vendor, device, subvendor, subdevice; uint8_t revision; } Info;
typedef struct { char **nodes; int available, bustype; union { Bus *pci; } bus; union { Info *pci; } info; } Device;

static Device *make(void)
{
    Device *d = calloc(1, sizeof *d);
    d->nodes = calloc(3, sizeof(char *));
    for (int i = 0; i < 3; i++) d->nodes[i] = strdup(i == 2 ? "/dev/dri/renderD128" : "");
    d->available = 1 << 2;
    d->bus.pci = calloc(1, sizeof(Bus));
    d->info.pci = calloc(1, sizeof(Info));
    d->bus.pci->dev = 2;
    d->info.pci->vendor = 0x8086;
    d->info.pci->device = chip();
    return d;
}
int drmGetDevices2(uint32_t flags, Device **out, int most) { (void)flags; if (out && most > 0) out[0] = make(); return 1; }
int drmGetDevices(Device **out, int most) { return drmGetDevices2(0, out, most); }
int drmGetDevice2(int fd, uint32_t flags, Device **out) { (void)fd; (void)flags; *out = make(); return 0; }
int drmGetDevice(int fd, Device **out) { return drmGetDevice2(fd, 0, out); }
void drmFreeDevice(Device **d) { *d = 0; }
void drmFreeDevices(Device **d, int n) { for (int i = 0; i < n; i++) d[i] = 0; }
int drmGetNodeTypeFromFd(int fd) { (void)fd; return 2; }
char *drmGetRenderDeviceNameFromFd(int fd) { (void)fd; return strdup("/dev/dri/renderD128"); }
char *drmGetDeviceNameFromFd2(int fd) { (void)fd; return strdup("/dev/dri/renderD128"); }

typedef struct { int major, minor, patch; int name_len; char *name; int date_len; char *date; int desc_len; char *desc; } Version;
Version *drmGetVersion(int fd)
{
    (void)fd;
    Version *v = calloc(1, sizeof *v);
    v->major = 1; v->minor = 6; v->name = strdup("i915"); v->name_len = 4;
    v->date = strdup("20200101"); v->date_len = 8; v->desc = strdup("stub"); v->desc_len = 4;
    return v;
}
void drmFreeVersion(Version *v) { (void)v; }

static int opened(void)
{
    stub = syscall(SYS_memfd_create, "stub", 0);
    if (ftruncate(stub, 1L << 40)) perror("ftruncate");
    return stub;
}
#define OPEN(NAME) \
    int NAME(const char *path, int flags, ...) \
    { \
        va_list a; va_start(a, flags); int mode = va_arg(a, int); va_end(a); \
        if (!strncmp(path, "/dev/dri/", 9)) return opened(); \
        return syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

static uint32_t handles; static uint64_t offset = 1 << 20; static uint64_t sizes[1 << 16];
static int old(void) { uint32_t c = chip(); return c < 0x1600; }

int ioctl(int fd, unsigned long request, ...)
{
    va_list a; va_start(a, request); void *p = va_arg(a, void *); va_end(a);
    if (((request >> 8) & 0xff) != 'd') return syscall(SYS_ioctl, fd, request, p);
    uint32_t *w = p; uint64_t *q = p; int nr = request & 0xff;
    if (getenv("STUB_TRACE")) fprintf(stderr, "ioctl %02x\n", nr);
    switch (nr) {
    case 0x0c: q[1] = 1; return 0;                      /* get cap */
    case 0x09: return 0;                                /* close */
    case 0x46: {                                        /* getparam */
        int param = w[0]; int *value = *(int **)(w + 2);
        switch (param) {
        case 4: *value = chip(); break;
        case 18: *value = old() ? 1 : 3; break;
        case 28: *value = 10; break;
        case 32: *value = 0; break;
        case 33: *value = 3; break;
        case 34: *value = 24; break;
        case 40: *value = 4; break;
        case 46: *value = 1; break;
        case 47: *value = 7; break;
        case 51: *value = 12000000; break;
        default: *value = 1;
        }
        return 0;
    }
    case 0x5b: w[2] = ++handles; sizes[handles] = q[0]; return 0;     /* create */
    case 0x5e: {                                        /* mmap */
        uint64_t size = q[2];
        void *m = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        q[3] = (uint64_t)m; return 0;
    }
    case 0x64: q[1] = offset; offset += (sizes[w[0]] + 0xfffff) & ~0xfffffUL; return 0; /* mmap offset */
    case 0x61: return 0; case 0x62: w[1] = 0; w[2] = 0; return 0;
    case 0x63: q[0] = 1UL << 30; q[1] = 1UL << 30; return 0;
    case 0x57: w[1] = 0; return 0;                      /* busy */
    case 0x6d: w[0] = 1; return 0;                      /* context create */
    case 0x71: q[1] = 12345; return 0;
    case 0x74: {                                        /* context getparam */
        uint64_t param = q[1];
        q[2] = param == 3 ? (old() ? 1UL << 31 : 1UL << 48) : 0; return 0;
    }
    case 0x79: {                                        /* query */
        struct { uint64_t id; int32_t length; uint32_t flags; uint64_t data; } *items = (void *)q[1];
        for (uint32_t i = 0; i < w[0]; i++) {
            static const uint16_t head[8] = {0, 1, 8, 16, 1, 1, 2, 2};
            if (items[i].id != 1) { items[i].length = -EINVAL; continue; }
            if (items[i].length == 0) { items[i].length = 16 + 2 + 16; continue; }
            memcpy((void *)items[i].data, head, 16);
            memset((char *)items[i].data + 16, 0xff, 18);
            ((char *)items[i].data)[16] = 1;
        }
        return 0;
    }
    case 0x7a: w[0] = 1; return 0;
    case 0xbf: w[0] = ++handles; return 0;
    default: return 0;
    }
}
