/* The sources of programs as files, so that what is found in a kernel can name a line of one.
 *
 * Programs hand their sources over as texts, and the compiler calls all of them "1". Here each gets
 * a file that is named by its bytes, and the compiler is told that name.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vendor.h"

enum { PROGRAM_SOURCE = 0x1164, LONGEST_PATH = 4096 };

typedef int32_t (*info_type)(handle, uint32_t, size_t, void *, size_t *);

/* The program's source in memory of ours; NULL if it is made of something else. */
static char *source_of(handle program) {
    const info_type info = (info_type)(*(function **)program)[GET_PROGRAM_INFO];
    size_t size = 0;
    if (info(program, PROGRAM_SOURCE, 0, NULL, &size) || size < 2) return NULL;
    char *text = malloc(size);
    if (text && info(program, PROGRAM_SOURCE, size, text, NULL) == 0 && strlen(text) == size - 1)
        return text;
    free(text);
    return NULL;
}

static uint64_t digest(const char *text) {
    uint64_t found = 0xcbf29ce484222325;
    for (; *text; text++) found = (found ^ (unsigned char)*text) * 0x100000001b3;
    return found;
}

static bool write_all(int file, const char *text, size_t size) {
    while (size) {
        const ssize_t done = write(file, text, size);
        if (done <= 0) return false;
        text += done;
        size -= (size_t)done;
    }
    return true;
}

/* Whole files only: other processes may write and read the same one. A file that is there stays:
 * a newer one would not be what older binaries were made of. */
static bool keep(const char *path, const char *text) {
    char room[LONGEST_PATH];
    if (access(path, R_OK) == 0) return true;
    const int length = snprintf(room, sizeof room, "%s.XXXXXX", path);
    if (length < 0 || (size_t)length >= sizeof room) return false;
    const int file = mkstemp(room);
    if (file < 0) return false;
    const bool is_whole = write_all(file, text, strlen(text));
    if (close(file) == 0 && is_whole && rename(room, path) == 0) return true;
    unlink(room);
    return false;
}

char *named_source(handle program) {
    const char *folder = getenv("VISIM_SOURCES");
    char *text = folder && !strchr(folder, '"') && program ? source_of(program) : NULL;
    char path[LONGEST_PATH], *made = NULL;
    if (!text) return NULL;
    const int length = snprintf(path, sizeof path, "%s/%016llx.cl", folder,
                                (unsigned long long)digest(text));
    if (length > 0 && (size_t)length < sizeof path && keep(path, text)
        && asprintf(&made, "-s \"%s\" -I . ", path) < 0)
        made = NULL;
    free(text);
    return made;
}
