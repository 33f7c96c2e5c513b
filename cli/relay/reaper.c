#include "cli/relay/reaper.h"

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

struct reaper {
    int fd;
    struct watch *watch;
};

static void on_child(void *arg)
{
    const struct reaper *reaper = arg;
    struct signalfd_siginfo info;
    while (read(reaper->fd, &info, sizeof info) == sizeof info)
        ;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

struct reaper *reaper_start(struct loop *loop)
{
    sigset_t set;
    if (getpid() != 1)
        return NULL;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct reaper *reaper = mem_alloc(sizeof *reaper);
    *reaper = (struct reaper){.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)};
    reaper->watch = watch_start(loop, reaper->fd, on_child, reaper);
    on_child(reaper); /* one may have ended before SIGCHLD was blocked */
    return reaper;
}

void reaper_stop(struct reaper **reaper)
{
    struct reaper *it = *reaper;
    if (!it)
        return;
    *reaper = NULL;
    watch_stop(&it->watch);
    close(it->fd);
    free(it);
}
