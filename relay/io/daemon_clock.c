#include "relay/io/daemon_clock.h"

#include <stddef.h>
#include <time.h>

#ifdef RAYDBG_TESTING
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
    const char *path = getenv("RAYDBG_TEST_CLOCK");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path)
        return;
    text_copy(address.sun_path, sizeof address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
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
    static const char line[] = "skipped\n";
    if (it.owes_answer && it.fd > 0)
        (void)!send(it.fd, line, sizeof line - 1, MSG_NOSIGNAL);
    it.owes_answer = false;
}

/* True if time has passed at once. */
static bool look(void)
{
    static const char skip[] = "skip ";
    char line[64] = "";
    ssize_t len = recv(it.fd, line, sizeof line - 1, MSG_DONTWAIT);
    if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR)) {
        close(it.fd);
        it.fd = 0;
    }
    if (len <= 0 || !text_starts(line, skip))
        return false;
    it.skipped_ms += strtoll(line + strlen(skip), NULL, 10);
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
