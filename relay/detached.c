#include "relay/detached.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Shows "NAME PATH" in ps, in the place of the command line and the environment. */
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
    uintptr_t place[4] = {0};
    for (int n = 3; field && n <= 51; n++) {
        field = strchr(field + 1, ' ');
        if (field && n >= 48)
            place[n - 48] = (uintptr_t)strtoull(field, NULL, 10);
    }
    if (!field || !place[0] || place[1] <= place[0])
        return;
    uintptr_t end = place[2] == place[1] && place[3] > place[2] ? place[3] : place[1];
    environ = NULL;
    size_t room = (size_t)(end - place[0]);
    memset((char *)place[0], 0, room);
    snprintf((char *)place[0], room, "%s %s", name, path);
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

/* Closes all descriptors but the two, and gives them their places. */
static void set_descriptors(int socket, int memory)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        null = memory; /* 0 to 2 must not be free: what is opened next would take their places */
    socket = fcntl(socket, F_DUPFD, 10);
    memory = fcntl(memory, F_DUPFD, 10);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    dup2(socket, DETACHED_SOCKET_FD);
    dup2(memory, DETACHED_MEMORY_FD);
    if (close_range(DETACHED_FIRST_FREE_FD, ~0U, 0) != 0)
        for (long fd = sysconf(_SC_OPEN_MAX) - 1; fd >= DETACHED_FIRST_FREE_FD; fd--)
            close((int)fd);
}

_Noreturn static void become(const char *name, int socket, int memory, const char *path,
                             detached_run_fn run)
{
    static char own[PATH_MAX]; /* the title may overwrite the caller's */
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

int detached_start(const char *name, int socket, int memory, const char *path, detached_run_fn run)
{
    /* Nothing that the terminal sends may hit the child before it is on its own. */
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    pid_t child = fork();
    if (child == 0) {
        setsid();
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

int64_t detached_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void *detached_zeroes(size_t size)
{
    void *place = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        _exit(1);
    return place;
}
