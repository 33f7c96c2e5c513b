#include "relay/io/daemon_clock.h"

#include <stddef.h>
#include <time.h>

#ifdef RAYDBG_TESTING
#include "relay/io/loop_clock.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>
#endif

static int64_t monotonic_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int wait_ms(struct pollfd *polls, nfds_t count, int64_t ms, const sigset_t *signals)
{
    struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    return ppoll(polls, count, ms < 0 ? NULL : &timeout, signals);
}

#ifdef RAYDBG_TESTING
/* SLICE_MS: between two looks at the clock's socket, which is not among those that are polled. */
enum { SLICE_MS = 10, FIRST_FD = 10 };

static struct {
    int fd; /* 0: no other process moves this clock */
    int64_t skipped_ms;
    bool owes_answer;
} it;

void daemon_clock_open(void)
{
    int fd = loop_clock_connect();
    if (fd < 0)
        return;
    it.fd = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
    close(fd);
}

int daemon_clock_move(int fd)
{
    if (it.fd <= 0)
        return fd;
    it.fd = dup2(it.fd, fd);
    return fd + 1;
}

static void answer(void)
{
    if (it.owes_answer && it.fd > 0)
        loop_clock_answer(it.fd);
    it.owes_answer = false;
}

/* True if time has passed at once. */
static bool look(void)
{
    int64_t skip_ms;
    int received = loop_clock_receive(it.fd, &skip_ms);
    if (received < 0) {
        close(it.fd);
        it.fd = 0;
    }
    if (received <= 0)
        return false;
    it.skipped_ms += skip_ms;
    it.owes_answer = true;
    return true;
}

int64_t daemon_now_ms(void)
{
    return monotonic_ms() + it.skipped_ms;
}

int daemon_wait(struct pollfd *polls, nfds_t count, int64_t ms, const sigset_t *signals)
{
    int64_t until = daemon_now_ms() + ms;
    answer();
    while (it.fd > 0) {
        if (look())
            return 0;
        int64_t left = ms < 0 ? SLICE_MS : until - daemon_now_ms();
        int64_t slice = left < SLICE_MS ? left : SLICE_MS;
        int ready = wait_ms(polls, count, slice < 0 ? 0 : slice, signals);
        if (ready || (ms >= 0 && daemon_now_ms() >= until))
            return ready;
    }
    return wait_ms(polls, count, ms, signals);
}
#else
int64_t daemon_now_ms(void)
{
    return monotonic_ms();
}

int daemon_wait(struct pollfd *polls, nfds_t count, int64_t ms, const sigset_t *signals)
{
    return wait_ms(polls, count, ms, signals);
}
#endif
