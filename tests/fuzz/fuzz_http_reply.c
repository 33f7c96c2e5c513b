/* An HTTP server's bytes, whatever they are: one callback, with a body that is no longer than was
 * allowed. The first byte says how many bytes are sent at once, and whether the server hangs up. */
#include "fuzz.h"

#include "proto/http.h"
#include "relay/io/loop.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_BODY = 3000, DEADLINE_MS = 20 };

static struct loop *loop;
static int listener = -1;
static char path[64];
static int replies;
static bool done;

static void on_reply(void *arg, const struct http_reply *reply)
{
    (void)arg;
    replies++;
    done = true;
    check(reply->len <= MAX_BODY && reply->body[reply->len] == '\0');
    check(reply->type && reply->location && reply->why);
    check(reply->result != HTTP_ANSWERED || reply->status > 0);
}

static void stop(void)
{
    loop_destroy(&loop);
    close(listener);
    unlink(path);
}

static void start(void)
{
    struct err err = {0};
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "/tmp/fuzz-http-%d.sock", (int)getpid());
    memcpy(local.sun_path, path, sizeof path);
    unlink(path);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    check(bind(listener, (struct sockaddr *)&local, sizeof local) == 0);
    check(listen(listener, 8) == 0);
    loop = loop_create(false, &err);
    check(loop);
    atexit(stop);
}

static void get(void)
{
    char host[80];
    snprintf(host, sizeof host, "+%s", path);
    const struct http_request request = {.context = loop_context(loop),
                                         .host = host,
                                         .path = "/api/v0/workers?detail=1",
                                         .token = "0123456789abcdef",
                                         .deadline_ms = DEADLINE_MS,
                                         .max_body = MAX_BODY};
    done = false;
    replies = 0;
    check(http_get(&request, on_reply, NULL));
}

static int await_request(void)
{
    char bytes[4096];
    int fd = -1;
    while (!done && fd < 0) {
        loop_run_once(loop, 1);
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    while (!done && recv(fd, bytes, sizeof bytes, 0) < 0)
        loop_run_once(loop, 1);
    return fd;
}

static void answer(int fd, const uint8_t *bytes, size_t len, size_t step)
{
    while (len && !done) {
        ssize_t sent = send(fd, bytes, len < step ? len : step, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;
        if (sent > 0) {
            bytes += sent;
            len -= (size_t)sent;
        }
        loop_run_once(loop, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!loop)
        start();
    if (size < 1)
        return 0;
    size_t step = data[0] % 64 ? data[0] % 64 : SIZE_MAX;
    get();
    int fd = await_request();
    if (fd >= 0)
        answer(fd, data + 1, size - 1, size > 2000 ? SIZE_MAX : step);
    if (fd >= 0 && data[0] < 255)
        shutdown(fd, SHUT_RDWR);
    check(loop_run_until(loop, &done, 500 * DEADLINE_MS));
    if (fd >= 0)
        close(fd);
    loop_run_once(loop, 0);
    check(replies == 1);
    return 0;
}
