/* The process that executes a VM's commands: starting it, and asking it.
 *
 * Its parent must not see it: no SIGCHLD, nothing for wait(). It is a grandchild, made with raw
 * clones that run none of the program's fork handlers, and ends by itself when its socket closes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

extern char **environ;

enum { SOCKET_FD = 3, MEMORY_FD = 4, FIRST_OTHER_FD = 5, MOST_WORDS = 16, TEXT = 4096 };

/* What is computed before the clone: between clone and exec nothing may allocate. */
struct start {
    char command[TEXT];
    char *words[MOST_WORDS];
    char **environment;
    bool other_layout;
};

static bool is_for_program_only(const char *variable) {
    static const char *const names[] = {"LD_PRELOAD=", "LD_LIBRARY_PATH=", "LD_AUDIT=",
                                        "PYTHONSTARTUP=", "MALLOC_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0) return true;
    return false;
}

/* The program's environment without what is meant for its own loader. */
static char **own_environment(void) {
    size_t count = 0, kept = 0;
    while (environ && environ[count]) count++;
    char **found = calloc(count + 1, sizeof *found);
    for (size_t i = 0; found && i < count; i++)
        if (!is_for_program_only(environ[i])) found[kept++] = environ[i];
    return found;
}

static int split(struct start *start, const char *model, uint32_t vm) {
    const char *given = getenv("VISIM_VM_COMMAND");
    if (!given || strlen(given) >= TEXT) return -ENODEV;
    strcpy(start->command, given);
    int count = 0;
    char *rest = start->command;
    while (rest && count < MOST_WORDS - 4) start->words[count++] = strsep(&rest, "\n");
    static char number[16], parent[16];
    snprintf(number, sizeof number, "%u", vm);
    snprintf(parent, sizeof parent, "%d", (int)getpid());
    start->words[count++] = (char *)model;
    start->words[count++] = number;
    start->words[count++] = parent;
    return 0;
}

/* Addresses of the program's memory are the GPU's addresses, too. So the process should have its
 * own memory elsewhere: libraries at the low third instead of at the top, or the other way round.
 */
static void lay_out_elsewhere(void) {
    struct rlimit stack;
    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_max == RLIM_INFINITY) {
        stack.rlim_cur = RLIM_INFINITY;
        setrlimit(RLIMIT_STACK, &stack);
    } else {
        personality(ADDR_COMPAT_LAYOUT);
    }
}

static bool is_at_top(void) { return (uintptr_t)&errno >> 40 >= 0x70; }

static void close_from(int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0) return;
#endif
    for (int fd = first; fd < 65536; fd++) syscall(SYS_close, fd);
}

static void become(const struct start *start, int socket, int memory) {
    /* Out of the way first: either may be where the other has to be. */
    const int a = fcntl(socket, F_DUPFD, 64), b = fcntl(memory, F_DUPFD, 64);
    if (dup2(a, SOCKET_FD) < 0 || dup2(b, MEMORY_FD) < 0) _exit(127);
    close_from(FIRST_OTHER_FD);
    if (start->other_layout) lay_out_elsewhere();
    setsid();
    execve(start->words[0], start->words, start->environment);
    _exit(127);
}

static long plain_clone(void) { return syscall(SYS_clone, 0, NULL, NULL, NULL, 0); }

static int launch(const struct start *start, int socket, int memory) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const long child = plain_clone();
    if (child == 0) {
        const long grandchild = plain_clone();
        if (grandchild == 0) {
            pthread_sigmask(SIG_SETMASK, &before, NULL);
            become(start, socket, memory);
        }
        _exit(grandchild < 0);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (child < 0) return -errno;
    int status = 0;
    while (waitpid((pid_t)child, &status, __WCLONE) < 0 && errno == EINTR) {
    }
    return status ? -EAGAIN : 0;
}

static int await_ready(struct vm_process *process) {
    struct reply reply = {0};
    ssize_t got;
    while ((got = recv(process->socket, &reply, sizeof reply, 0)) < 0 && errno == EINTR) {
    }
    if (got != sizeof reply) {
        fprintf(stderr, "visim: the process that runs kernels did not start; "
                        "visim doctor says more\n");
        return -ENODEV;
    }
    if (reply.status > 0) prctl(PR_SET_PTRACER, (unsigned long)reply.status, 0, 0, 0);
    return 0;
}

int start_process(struct vm_process *process, const struct model *model, uint32_t vm) {
    int pair[2];
    struct start start = {.other_layout = is_at_top()};
    const int wrong = split(&start, model->name, vm);
    if (wrong) {
        fprintf(stderr, "visim: VISIM_VM_COMMAND is missing; start programs with visim exec\n");
        return wrong;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) return -errno;
    start.environment = own_environment();
    int result = start.environment ? launch(&start, pair[1], memory_file()) : -ENOMEM;
    free(start.environment);
    real_close(pair[1]);
    process->socket = pair[0];
    if (result == 0) result = await_ready(process);
    if (result) end_process(process);
    return result;
}

static ssize_t send_message(int socket, const struct message *message, int attached) {
    struct iovec part = {.iov_base = (void *)message, .iov_len = sizeof *message};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (attached >= 0) {
        packet.msg_control = control.bytes;
        packet.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&packet);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &attached, sizeof attached);
    }
    ssize_t sent;
    while ((sent = sendmsg(socket, &packet, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    return sent;
}

int ask_process(struct vm_process *process, const struct message *message, int attached) {
    struct reply reply = {0};
    if (process->socket < 0) return -ECANCELED;
    if (send_message(process->socket, message, attached) != sizeof *message) return -ECANCELED;
    ssize_t got;
    while ((got = recv(process->socket, &reply, sizeof reply, 0)) < 0 && errno == EINTR) {
    }
    return got == sizeof reply ? reply.status : -ECANCELED;
}

bool process_is_gone(const struct vm_process *process) {
    char byte;
    if (process->socket < 0) return true;
    const ssize_t got = recv(process->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void end_process(struct vm_process *process) {
    if (process->socket >= 0) real_close(process->socket);
    process->socket = -1;
}
