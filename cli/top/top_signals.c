#include "cli/top/top_signals.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGCONT, SIGTSTP};
enum { COUNT = sizeof numbers / sizeof *numbers };

struct top_signals {
    void (*fn)(void *arg, int number);
    void *arg;
    struct watch *watch;
    struct sigaction before[COUNT];
    sigset_t mask;
};

/* Global for the signal handler. */
static int pipe_ends[2] = {-1, -1};

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    if (write(pipe_ends[1], &byte, 1) < 0)
        errno = saved; /* the pipe is full: many signals wait already */
    errno = saved;
}

static void on_readable(void *arg)
{
    struct top_signals *signals = arg;
    unsigned char got[64];
    bool seen[NSIG] = {false};
    ssize_t len;
    while ((len = read(pipe_ends[0], got, sizeof got)) > 0)
        for (ssize_t i = 0; i < len; i++)
            seen[got[i] < NSIG ? got[i] : 0] = true;
    for (size_t i = 0; i < COUNT; i++)
        if (seen[numbers[i]])
            signals->fn(signals->arg, numbers[i]);
}

static void catch (struct top_signals *signals)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < COUNT; i++) {
        sigaddset(&set, numbers[i]);
        sigaction(numbers[i], NULL, &signals->before[i]);
        if (numbers[i] != SIGTSTP || signals->before[i].sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
    pthread_sigmask(SIG_UNBLOCK, &set, &signals->mask);
}

struct top_signals *top_signals_start(struct loop *loop, void (*fn)(void *arg, int number),
                                      void *arg)
{
    struct top_signals *signals = mem_alloc(sizeof *signals);
    signals->fn = fn;
    signals->arg = arg;
    if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0)
        abort(); /* no descriptor is left */
    signals->watch = watch_start(loop, pipe_ends[0], on_readable, signals);
    catch (signals);
    return signals;
}

void top_signals_stop(struct top_signals **signals)
{
    struct top_signals *it = *signals;
    if (!it)
        return;
    *signals = NULL;
    pthread_sigmask(SIG_SETMASK, &it->mask, NULL);
    for (size_t i = 0; i < COUNT; i++)
        sigaction(numbers[i], &it->before[i], NULL);
    watch_stop(&it->watch);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    pipe_ends[0] = pipe_ends[1] = -1;
    free(it);
}

void top_signals_suspend(struct top_signals *signals)
{
    struct sigaction usual = {.sa_handler = SIG_DFL}, ours;
    (void)signals;
    sigaction(SIGTSTP, &usual, &ours);
    raise(SIGTSTP);
    sigaction(SIGTSTP, &ours, NULL);
}
