#include "cli/common/signals.h"

#include "base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

struct signals {
    int fd;
    struct watch *watch;
    loop_fn fn;
    void *arg;
};

static void on_readable(void *arg)
{
    struct signals *signals = arg;
    struct signalfd_siginfo info;
    while (read(signals->fd, &info, sizeof info) == sizeof info)
        ;
    signals->fn(signals->arg);
}

static void fill(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

void signals_block(void)
{
    sigset_t set;
    fill(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

struct signals *signals_start(struct loop *loop, loop_fn fn, void *arg)
{
    struct signals *signals = mem_alloc(sizeof *signals);
    sigset_t set;
    fill(&set);
    signals_block();
    *signals = (struct signals){
        .fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
        .fn = fn,
        .arg = arg,
    };
    signals->watch = watch_start(loop, signals->fd, on_readable, signals);
    if (!signals->watch) /* they end the process by themselves */
        sigprocmask(SIG_UNBLOCK, &set, NULL);
    return signals;
}

void signals_stop(struct signals **signals)
{
    struct signals *it = *signals;
    if (!it)
        return;
    *signals = NULL;
    watch_stop(&it->watch);
    close(it->fd);
    free(it);
}

bool signals_wait(int64_t ms)
{
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigset_t set;
    fill(&set);
    return sigtimedwait(&set, NULL, &limit) > 0;
}
