/* clGetKernelArgInfo for drivers of 2022, which crash there for binaries of the form with vISA.
 *
 * The answers stand in the binary's section `.ze_info`: a list of kernels below `kernels_misc_info`,
 * each with its arguments in order, a line for each thing that may be asked.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vendor.h"

enum {
    PROGRAM_BINARY_SIZES = 0x1165,
    PROGRAM_BINARIES = 0x1166,
    KERNEL_NAME = 0x1190,
    KERNEL_ARGUMENTS = 0x1191,
    KERNEL_PROGRAM = 0x1194,
    ARGUMENT_ADDRESS = 0x1196,
    ARGUMENT_ACCESS = 0x1197,
    ARGUMENT_TYPE = 0x1198,
    ARGUMENT_QUALIFIERS = 0x1199,
    ARGUMENT_NAME = 0x119A,
    NOT_AVAILABLE = -19,
    INVALID_VALUE = -30,
    INVALID_INDEX = -49,
    MOST_DEVICES = 64,
    LONGEST = 4096
};
static const uint32_t CONST = 1, RESTRICT = 2, VOLATILE = 4;

typedef int32_t (*info_type)(handle, uint32_t, size_t, void *, size_t *);

/* The driver's own functions. */
static struct {
    function program_info, kernel_info;
} real;

static int32_t of_program(handle program, uint32_t what, size_t size, void *room, size_t *needed) {
    return ((info_type)real.program_info)(program, what, size, room, needed);
}

static int32_t of_kernel(handle kernel, uint32_t what, size_t size, void *room) {
    return ((info_type)real.kernel_info)(kernel, what, size, room, NULL);
}

/* The binary for the first device that has one, in memory of ours; NULL without one. */
static unsigned char *binary_of(handle program, size_t *size) {
    size_t sizes[MOST_DEVICES] = {0}, got = 0;
    unsigned char *places[MOST_DEVICES] = {0};
    if (of_program(program, PROGRAM_BINARY_SIZES, sizeof sizes, sizes, &got)) return NULL;
    for (size_t i = 0; i < got / sizeof *sizes; i++) {
        if (!sizes[i]) continue;
        *size = sizes[i];
        places[i] = malloc(sizes[i]);
        if (places[i] && of_program(program, PROGRAM_BINARIES, got, places, NULL) == 0)
            return places[i];
        free(places[i]);
        return NULL;
    }
    return NULL;
}

/* A section's text as a string of ours; NULL if the file has no such section, or is damaged. */
static char *section_text(const unsigned char *file, size_t size, const char *name) {
    Elf64_Ehdr head;
    if (size < sizeof head) return NULL;
    memcpy(&head, file, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(Elf64_Shdr)) return NULL;
    const size_t table = head.e_shnum * sizeof(Elf64_Shdr);
    if (head.e_shoff > size || table > size - head.e_shoff || head.e_shstrndx >= head.e_shnum) return NULL;
    Elf64_Shdr sections[head.e_shnum];
    memcpy(sections, file + head.e_shoff, table);
    const Elf64_Shdr *names = &sections[head.e_shstrndx];
    if (names->sh_offset > size || names->sh_size > size - names->sh_offset) return NULL;
    for (int i = 0; i < head.e_shnum; i++) {
        const Elf64_Shdr *one = &sections[i];
        if (one->sh_offset > size || one->sh_size > size - one->sh_offset) return NULL;
        if (one->sh_name + strlen(name) >= names->sh_size) continue;
        if (strcmp((const char *)file + names->sh_offset + one->sh_name, name) != 0) continue;
        return strndup((const char *)file + one->sh_offset, one->sh_size);
    }
    return NULL;
}

/* The value of a line "key: value", without quotes; false for a line of another key. */
static bool value_of(const char *line, const char *key, char *room) {
    line += strspn(line, " -");
    const size_t length = strlen(key);
    if (strncmp(line, key, length) != 0 || line[length] != ':') return false;
    line += length + 1;
    line += strspn(line, " ");
    size_t end = strcspn(line, "\n");
    if (end >= 2 && *line == '\'' && line[end - 1] == '\'') line++, end -= 2;
    if (end >= LONGEST) end = LONGEST - 1;
    memcpy(room, line, end);
    room[end] = 0;
    return true;
}

static const char *next_line(const char *at) {
    at = strchr(at, '\n');
    return at ? at + 1 : NULL;
}

/* Looks up one thing that the metadata say of a kernel's argument. */
static bool look_up(const char *text, const char *kernel, uint32_t index, const char *key, char *room) {
    static const char list[] = "kernels_misc_info:";
    const char *at = strstr(text, list);
    bool is_kernel = false, is_argument = false;
    for (at = at ? next_line(at) : NULL; at && *at == ' '; at = next_line(at)) {
        const size_t depth = strspn(at, " ");
        if (depth == 2 && at[depth] == '-') {
            is_kernel = value_of(at, "name", room) && strcmp(room, kernel) == 0;
            is_argument = false;
        } else if (is_kernel && value_of(at, "index", room)) {
            is_argument = strtoul(room, NULL, 10) == index;
        } else if (is_kernel && is_argument && value_of(at, key, room)) {
            return true;
        }
    }
    return false;
}

static const char *key_of(uint32_t what) {
    switch (what) {
        case ARGUMENT_ADDRESS: return "address_qualifier";
        case ARGUMENT_ACCESS: return "access_qualifier";
        case ARGUMENT_TYPE: return "type_name";
        case ARGUMENT_QUALIFIERS: return "type_qualifiers";
        case ARGUMENT_NAME: return "name";
        default: return NULL;
    }
}

static uint32_t number_of(const char *word, uint32_t first, const char *const *words, uint32_t other) {
    for (uint32_t i = 0; words[i]; i++)
        if (strcmp(word, words[i]) == 0) return first + i;
    return other;
}

static uint64_t qualifiers_in(const char *text) {
    return (strstr(text, "const") ? CONST : 0) | (strstr(text, "restrict") ? RESTRICT : 0) |
           (strstr(text, "volatile") ? VOLATILE : 0);
}

static int32_t give(const void *found, size_t found_size, size_t size, void *room, size_t *needed) {
    if (room && size < found_size) return INVALID_VALUE;
    if (room) memcpy(room, found, found_size);
    if (needed) *needed = found_size;
    return 0;
}

static int32_t give_argument(uint32_t what, char *text, size_t size, void *room, size_t *needed) {
    static const char *const places[] = {"__global", "__local", "__constant", "__private", NULL};
    static const char *const ways[] = {"__read_only", "__write_only", "__read_write", NULL};
    const uint32_t first_place = 0x119B, in_private = 0x119E, first_way = 0x11A0, no_way = 0x11A3;
    uint32_t number;
    uint64_t bits;
    switch (what) {
        case ARGUMENT_ADDRESS:
            number = number_of(text, first_place, places, in_private);
            return give(&number, sizeof number, size, room, needed);
        case ARGUMENT_ACCESS:
            number = number_of(text, first_way, ways, no_way);
            return give(&number, sizeof number, size, room, needed);
        case ARGUMENT_QUALIFIERS:
            bits = qualifiers_in(text);
            return give(&bits, sizeof bits, size, room, needed);
        case ARGUMENT_TYPE: text[strcspn(text, ";")] = 0; /* Its size follows. */
    }
    return give(text, strlen(text) + 1, size, room, needed);
}

static int32_t argument_info(handle kernel, uint32_t index, uint32_t what, size_t size, void *room,
                             size_t *needed) {
    char name[LONGEST], text[LONGEST];
    uint32_t count = 0;
    handle program = NULL;
    const char *key = key_of(what);
    int32_t result = of_kernel(kernel, KERNEL_ARGUMENTS, sizeof count, &count);
    if (result == 0) result = of_kernel(kernel, KERNEL_NAME, sizeof name, name);
    if (result == 0) result = of_kernel(kernel, KERNEL_PROGRAM, sizeof program, &program);
    if (result) return result;
    if (index >= count) return INVALID_INDEX;
    if (!key) return INVALID_VALUE;
    size_t file_size = 0;
    unsigned char *file = binary_of(program, &file_size);
    if (!file) return NOT_AVAILABLE;
    char *metadata = section_text(file, file_size, ".ze_info");
    free(file);
    const bool is_found = metadata && look_up(metadata, name, index, key, text);
    free(metadata);
    return is_found ? give_argument(what, text, size, room, needed) : NOT_AVAILABLE;
}

void answer_for_arguments(function *table) {
    real.program_info = table[GET_PROGRAM_INFO];
    real.kernel_info = table[GET_KERNEL_INFO];
    table[GET_KERNEL_ARGUMENT_INFO] = (function)argument_info;
}
