/* Objects that one device hands to another, as dma-buf does it: a file stands for the object.
 *
 * The file is an empty one of the object's size, known again by its inode, so that duplicates of it
 * work, too. All devices of a program have their objects in one file of memory; so the object is
 * the same for all, and has one handle. A file of another program is none of ours.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "objects.h"

struct shared {
    int fd;
    ino_t inode;
    uint32_t handle;
    struct shared *next;
};
static struct shared *all_shared;

/* The flags are those of `open`; the file that stands for an object has no other ones. */
static int make_token(uint64_t size, uint32_t flags, ino_t *inode) {
    struct stat found;
    const int fd = memfd_create("visim shared object", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
    if (fd < 0) return -errno;
    if (ftruncate(fd, (off_t)size) || fstat(fd, &found)) {
        real_close(fd);
        return -ENOMEM;
    }
    *inode = found.st_ino;
    return fd;
}

int share_object(int device, struct drm_prime *request) {
    if (request->flags & ~(uint32_t)(PRIME_READ_WRITE | PRIME_CLOSE_ON_EXEC)) return -EINVAL;
    struct shared *made = malloc(sizeof *made);
    if (!made) return -ENOMEM;
    pthread_mutex_lock(&tables_lock);
    struct object *object = object_at(request->handle);
    int result = !object || !(object->open_on & 1u << device) ? -ENOENT : 0;
    if (result == 0 && object->program) result = -EINVAL; /* As with pages of the program's. */
    if (result == 0) {
        made->handle = request->handle;
        made->fd = make_token(object->size, request->flags, &made->inode);
        result = made->fd < 0 ? made->fd : 0;
    }
    if (result == 0) {
        object->uses++;
        request->fd = made->fd;
        made->next = all_shared;
        all_shared = made;
    }
    pthread_mutex_unlock(&tables_lock);
    if (result) free(made);
    return result;
}

int take_shared(int device, struct drm_prime *request) {
    struct stat found;
    if (fstat(request->fd, &found)) return -EBADF;
    int result = -EINVAL;
    pthread_mutex_lock(&tables_lock);
    for (const struct shared *one = all_shared; one; one = one->next) {
        if (one->inode != found.st_ino) continue;
        object_at(one->handle)->open_on |= (uint8_t)(1u << device);
        request->handle = one->handle;
        result = 0;
        break;
    }
    pthread_mutex_unlock(&tables_lock);
    return result;
}

/* A file is closed; if it stood for an object, that has one use less. */
void forget_shared(int fd) {
    if (!__atomic_load_n(&all_shared, __ATOMIC_RELAXED)) return;
    pthread_mutex_lock(&tables_lock);
    struct shared **at = &all_shared;
    while (*at && (*at)->fd != fd) at = &(*at)->next;
    struct shared *gone = *at;
    if (gone) {
        *at = gone->next;
        end_use(gone->handle);
    }
    pthread_mutex_unlock(&tables_lock);
    free(gone);
}
