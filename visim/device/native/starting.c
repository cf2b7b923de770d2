/* Programs that the program starts: they see the device, too, if they run with the C library of the
 * driver's folder. So each is started by the loader of that folder, as the first one was.
 *
 * Between fork and exec nothing may allocate: all words are on the stack.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "device.h"

#define REAL(result, name, ...)                                  \
    static result (*real_##name)(__VA_ARGS__);                   \
    if (!real_##name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name)

enum { MOST_HEADERS = 64, MOST_SHEBANGS = 4, LINE = 256, MORE_WORDS = 8 + 2 * MOST_SHEBANGS };
static const char LOADER[] = "VISIM_LOADER=", LIBRARIES[] = "VISIM_LIBRARIES=";
static const char PROGRAM[] = "VISIM_PROGRAM=";

extern char **environ;

static const char *value_in(char *const *environment, const char *name) {
    const size_t length = strlen(name);
    for (size_t i = 0; environment && environment[i]; i++)
        if (strncmp(environment[i], name, length) == 0) return environment[i] + length;
    return NULL;
}

static size_t count_of(char *const *words) {
    size_t count = 0;
    while (words && words[count]) count++;
    return count;
}

/* Whether a file is a program of this machine that has a loader. */
static bool is_dynamic(int file, const unsigned char *start, ssize_t size) {
    Elf64_Ehdr head;
    Elf64_Phdr one;
    if (size < (ssize_t)sizeof head) return false;
    memcpy(&head, start, sizeof head);
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != EM_X86_64) return false;
    for (int i = 0; i < head.e_phnum && i < MOST_HEADERS; i++) {
        const off_t at = (off_t)head.e_phoff + i * (off_t)sizeof one;
        if (pread(file, &one, sizeof one, at) != sizeof one) return false;
        if (one.p_type == PT_INTERP) return true;
    }
    return false;
}

enum kind { OTHER, DYNAMIC, SCRIPT };

/* What a file is; a script's first line without #! and without its end is left in `line`. */
static enum kind kind_of(const char *path, char line[LINE]) {
    const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return OTHER;
    unsigned char start[LINE] = {0};
    const ssize_t size = pread(file, start, sizeof start - 1, 0);
    enum kind kind = OTHER;
    if (size > 2 && start[0] == '#' && start[1] == '!') {
        memcpy(line, start + 2, LINE - 2);
        line[strcspn(line, "\r\n")] = 0;
        kind = SCRIPT;
    } else if (size > 4 && memcmp(start, ELFMAG, SELFMAG) == 0 && is_dynamic(file, start, size)) {
        kind = DYNAMIC;
    }
    syscall(SYS_close, file);
    return kind;
}

/* What is to be started instead. Room is the caller's. */
struct start {
    const char *path;
    char **words, **environment;
    char lines[MOST_SHEBANGS][LINE], program[PATH_MAX + sizeof PROGRAM];
};

/* Puts interpreters of scripts before the words; false if the file is no program that we start. */
static bool put_interpreters(struct start *start, char **words, size_t *first) {
    for (int depth = 0; depth < MOST_SHEBANGS; depth++) {
        char *line = start->lines[depth];
        const enum kind kind = kind_of(start->path, line);
        if (kind == DYNAMIC) return true;
        if (kind == OTHER) return false;
        line += strspn(line, " \t");
        char *option = line + strcspn(line, " \t");
        if (*option) *option++ = 0;
        option += strspn(option, " \t");
        words[*first] = (char *)start->path;
        if (*option) words[--*first] = option;
        words[--*first] = line;
        start->path = line;
    }
    return false;
}

/* Makes the words with which a program starts by the loader; false if it starts as it is. The
 * arrays have room for MORE_WORDS more than the program's own. */
static bool arrange(struct start *start, const char *path, char *const *words, char **room,
                    char *const *environment, char **variables) {
    const char *loader = value_in(environment, LOADER);
    const char *libraries = value_in(environment, LIBRARIES);
    if (!loader || !libraries || !words || !words[0]) return false;
    if (strcmp(path, loader) == 0) return false;
    size_t first = MORE_WORDS;
    memcpy(room + first, words, (count_of(words) + 1) * sizeof *room);
    start->path = path;
    if (!put_interpreters(start, room, &first)) return false;
    char *name = room[first];
    room[first] = (char *)start->path;
    room[--first] = name;
    room[--first] = "--argv0";
    room[--first] = (char *)libraries;
    room[--first] = "--library-path";
    room[--first] = (char *)loader;
    start->words = room + first;
    size_t kept = 0;
    for (size_t i = 0; environment[i]; i++)
        if (strncmp(environment[i], PROGRAM, sizeof PROGRAM - 1) != 0)
            variables[kept++] = environment[i];
    snprintf(start->program, sizeof start->program, "%s%s", PROGRAM, start->path);
    variables[kept++] = start->program;
    variables[kept] = NULL;
    start->path = loader;
    start->environment = variables;
    return true;
}

#define ARRANGE(start, path, words, environment)                                          \
    arrange(start, path, words, alloca((count_of(words) + 1 + MORE_WORDS) * sizeof(char *)), \
            environment, alloca((count_of(environment) + 2) * sizeof(char *)))

/* Where a program of a name is, as a shell finds it; the name itself if it has a slash. */
static const char *found_in_path(const char *name, char room[PATH_MAX]) {
    if (strchr(name, '/')) return name;
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        const size_t length = strcspn(rest, ":");
        const char *folder = length ? rest : ".";
        const int written =
            snprintf(room, PATH_MAX, "%.*s/%s", length ? (int)length : 1, folder, name);
        if (written > 0 && written < PATH_MAX && access(room, X_OK) == 0) return room;
        rest += length + (rest[length] == ':');
    }
    return name;
}

int execve(const char *path, char *const words[], char *const environment[]) {
    REAL(int, execve, const char *, char *const[], char *const[]);
    struct start start;
    if (ARRANGE(&start, path, words, environment))
        return real_execve(start.path, start.words, start.environment);
    return real_execve(path, words, environment);
}

int execv(const char *path, char *const words[]) { return execve(path, words, environ); }

int execvpe(const char *name, char *const words[], char *const environment[]) {
    REAL(int, execvpe, const char *, char *const[], char *const[]);
    struct start start;
    char room[PATH_MAX];
    if (ARRANGE(&start, found_in_path(name, room), words, environment))
        return execve(start.path, start.words, start.environment);
    return real_execvpe(name, words, environment);
}

int execvp(const char *name, char *const words[]) { return execvpe(name, words, environ); }

/* The words of a call that has them as arguments, with NULL at the end, on the caller's stack. */
#define WORDS(first, rest)                                                  \
    size_t count = 1;                                                       \
    va_start(rest, first);                                                  \
    while (va_arg(rest, char *)) count++;                                   \
    va_end(rest);                                                           \
    char **words = alloca((count + 1) * sizeof *words);                     \
    words[0] = (char *)first;                                               \
    va_start(rest, first);                                                  \
    for (size_t i = 1; i <= count; i++) words[i] = va_arg(rest, char *)

int execl(const char *path, const char *first, ...) {
    va_list rest;
    WORDS(first, rest);
    va_end(rest);
    return execv(path, words);
}

int execlp(const char *name, const char *first, ...) {
    va_list rest;
    WORDS(first, rest);
    va_end(rest);
    return execvp(name, words);
}

int execle(const char *path, const char *first, ...) {
    va_list rest;
    WORDS(first, rest);
    char *const *environment = va_arg(rest, char *const *);
    va_end(rest);
    return execve(path, words, environment);
}

int posix_spawn(pid_t *process, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const words[],
                char *const environment[]) {
    REAL(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const[], char *const[]);
    struct start start;
    if (ARRANGE(&start, path, words, environment))
        return real_posix_spawn(process, start.path, actions, attributes, start.words,
                                start.environment);
    return real_posix_spawn(process, path, actions, attributes, words, environment);
}

int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const words[],
                 char *const environment[]) {
    char room[PATH_MAX];
    REAL(int, posix_spawnp, pid_t *, const char *, const posix_spawn_file_actions_t *,
         const posix_spawnattr_t *, char *const[], char *const[]);
    const char *path = found_in_path(name, room);
    if (strchr(path, '/'))
        return posix_spawn(process, path, actions, attributes, words, environment);
    return real_posix_spawnp(process, name, actions, attributes, words, environment);
}
