#include "relay/io/daemon.h"

#include "relay/io/daemon_clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Makes ps show "NAME PATH": overwrites the command line and the environment. */
static void set_title(const char *name, const char *path)
{
    prctl(PR_SET_NAME, name);
    static char stat[2048];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
    if (fd >= 0)
        close(fd);
    char *field = len > 0 ? strrchr(stat, ')') : NULL;
    /* Behind the ')' come the fields from the 3rd on; 48th to 51st: arg_start … env_end. */
    uintptr_t bounds[4] = {0};
    for (int n = 3; field && n <= 51; n++) {
        field = strchr(field + 1, ' ');
        if (field && n >= 48)
            bounds[n - 48] = (uintptr_t)strtoull(field, NULL, 10);
    }
    if (!field || !bounds[0] || bounds[1] <= bounds[0])
        return;
    uintptr_t end = bounds[2] == bounds[1] && bounds[3] > bounds[2] ? bounds[3] : bounds[1];
    environ = NULL;
    size_t room = (size_t)(end - bounds[0]);
    memset((char *)bounds[0], 0, room);
    snprintf((char *)bounds[0], room, "%s %s", name, path);
}

static void set_signals(void)
{
    static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2,
                                  SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ};
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_SETMASK, &term, NULL);
}

/* For Linux before 5.9, which has no close_range(). The limit on descriptors is no good bound: a
 * container's may be 2^30. */
static void close_listed(int first)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir))) {
        int fd = atoi(entry->d_name); /* "." and "..": 0 */
        if (fd >= first && fd != dirfd(dir))
            close(fd);
    }
    closedir(dir);
}

/* Gives the two descriptors their numbers and closes all others, except a test's clock. */
static void set_descriptors(int socket, int memory)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        null = memory; /* 0 to 2 must not be free: later descriptors would get these numbers */
    socket = fcntl(socket, F_DUPFD, 10);
    memory = fcntl(memory, F_DUPFD, 10);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    dup2(socket, DAEMON_SOCKET_FD);
    dup2(memory, DAEMON_MEMORY_FD);
    int first = daemon_clock_move(DAEMON_FIRST_FREE_FD);
    /* glibc has close_range() since 2.34. */
    if (syscall(SYS_close_range, first, ~0U, 0) != 0)
        close_listed(first);
}

_Noreturn static void become(const char *name, int socket, int memory, const char *path,
                             daemon_run_fn run)
{
    static char own[PATH_MAX]; /* set_title() may overwrite the caller's */
    if (strlen(path) >= sizeof own)
        _exit(1);
    memcpy(own, path, strlen(path) + 1);
    set_signals();
    set_descriptors(socket, memory);
    set_title(name, own);
    if (chdir("/") != 0)
        _exit(1);
    run(own);
    _exit(0);
}

int daemon_start(const char *name, int socket, int memory, const char *path, daemon_run_fn run)
{
    /* No signal of the terminal may reach the child before it is detached. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        daemon_clock_open();
        pid_t grandchild = fork();
        if (grandchild == 0)
            become(name, socket, memory, path, run);
        _exit(grandchild < 0);
    }
    int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    int status = 0;
    if (child < 0 || (waitpid(child, &status, 0) == child && status != 0)) {
        errno = child < 0 ? why : EAGAIN;
        return -1;
    }
    return 0;
}

/* Returns 0 or an errno. The descriptors are duplicates, numbered above those they are moved to. */
static int spawn(const char *name, int socket, int memory, const char *path, pid_t *child)
{
    char *const argv[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)path, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all;
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    /* No signal of the terminal may reach the child before it is detached. */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, &all);
    int why = posix_spawn_file_actions_adddup2(&files, socket, DAEMON_SOCKET_FD);
    if (why == 0)
        why = posix_spawn_file_actions_adddup2(&files, memory, DAEMON_MEMORY_FD);
    if (why == 0)
        why = posix_spawn(child, "/proc/self/exe", &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return why;
}

int daemon_spawn(const char *name, int socket, int memory, const char *path)
{
    pid_t child = -1;
    int status = 0;
    int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    int high_memory = fcntl(memory, F_DUPFD_CLOEXEC, 10);
    int why = high_socket < 0 || high_memory < 0
                  ? errno
                  : spawn(name, high_socket, high_memory, path, &child);
    if (high_socket >= 0)
        close(high_socket);
    if (high_memory >= 0)
        close(high_memory);
    /* The child forks the process that stays, and exits. */
    while (why == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    errno = why ? why : EAGAIN;
    return why || status ? -1 : 0;
}

void daemon_resume(int argc, char **argv, const char *name, bool (*prepare)(void),
                   daemon_run_fn run)
{
    if (argc != 2 || strcmp(argv[0], name) != 0)
        return;
    if (argv[1][0] != '/' || fcntl(DAEMON_SOCKET_FD, F_GETFD) < 0 ||
        fcntl(DAEMON_MEMORY_FD, F_GETFD) < 0 || !prepare())
        _exit(1);
    _exit(daemon_start(name, DAEMON_SOCKET_FD, DAEMON_MEMORY_FD, argv[1], run) != 0);
}

void *daemon_zeroes(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(1);
    return memory;
}
