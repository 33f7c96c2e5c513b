#include "relay/io/loop_clock.h"

#ifdef RAYDBG_TESTING
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int loop_clock_connect(void)
{
    const char *path = getenv("RAYDBG_TEST_CLOCK");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path)
        return -1;
    text_copy(address.sun_path, sizeof address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int loop_clock_receive(int fd, int64_t *skip_ms)
{
    static const char skip[] = "skip ";
    char line[64] = "";
    ssize_t len = recv(fd, line, sizeof line - 1, MSG_DONTWAIT);
    if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR))
        return -1;
    if (len < 0 || !text_starts(line, skip))
        return 0;
    *skip_ms = strtoll(line + strlen(skip), NULL, 10);
    return 1;
}

void loop_clock_answer(int fd)
{
    static const char line[] = "skipped\n";
    (void)!send(fd, line, sizeof line - 1, MSG_NOSIGNAL);
}

static void answer(void *arg)
{
    const struct loop_clock *clock = arg;
    if (clock->watch)
        loop_clock_answer(clock->fd);
}

/* Posted: loop_skip() must not run in a callback. */
static void skip(void *arg)
{
    struct loop_clock *clock = arg;
    if (!clock->watch)
        return;
    loop_skip(clock->loop, clock->skip_ms);
    clock->skip_ms = 0;
    loop_post(clock->loop, answer, clock);
}

static void on_readable(void *arg)
{
    struct loop_clock *clock = arg;
    int received = loop_clock_receive(clock->fd, &clock->skip_ms);
    if (received < 0)
        loop_clock_close(clock);
    else if (received)
        loop_post(clock->loop, skip, clock);
}

void loop_clock_open(struct loop_clock *clock, struct loop *loop)
{
    int fd = loop_clock_connect();
    if (fd < 0)
        return;
    *clock = (struct loop_clock){.loop = loop, .fd = fd};
    clock->watch = watch_start(loop, fd, on_readable, clock);
    if (!clock->watch)
        close(fd);
}

void loop_clock_close(struct loop_clock *clock)
{
    if (!clock->watch)
        return;
    watch_stop(&clock->watch);
    close(clock->fd);
}
#endif
