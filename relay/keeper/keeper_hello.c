/* A relay's connection to the keeper's process: the hello, and requests. */
#include "relay/keeper/keeper_state.h"

#include "base/log.h"
#include "relay/io/loop.h"
#include "relay/keeper/keeper_find.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { AGAIN_MS = 500 }; /* for a relay that may be ending, though it does not look like it */

/* --- talking --- */

void keeper_lose(struct keeper *keeper)
{
    log_warn("the keeper (pid %d) is gone", keeper->pid);
    shutdown(keeper->socket, SHUT_RDWR); /* a watch has a duplicate, which close() does not end */
    close(keeper->socket);
    keeper->socket = -1;
}

/* Polls, because the socket may be non-blocking: a watch's duplicate sets that. */
static bool wait_for(const struct keeper *keeper, short events, int64_t ms)
{
    struct pollfd socket = {.fd = keeper->socket, .events = events};
    int64_t end_us = loop_now_us() + ms * 1000;
    int ready;
    do {
        int64_t left_ms = (end_us - loop_now_us() + 999) / 1000;
        ready = poll(&socket, 1, left_ms > 0 ? (int)left_ms : 0);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

bool keeper_say(struct keeper *keeper, struct keeper_message *message, const int *fds,
                size_t fd_count)
{
    message->tag = ++keeper->tag;
    message->version = keeper->version;
    if (!keeper->jammed && !keeper->awaited)
        wait_for(keeper, POLLOUT, KEEPER_CALL_MS);
    bool sent = keeper_send(keeper->socket, message, fds, fd_count, false);
    if (!sent && (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN)) {
        keeper_lose(keeper);
        return false;
    }
    if (!sent && !keeper->jammed)
        log_warn("the keeper (pid %d) cannot be told: %s; tried again every second", keeper->pid,
                 strerror(errno));
    keeper->jammed = !sent;
    return sent;
}

bool keeper_ask(struct keeper *keeper, struct keeper_message *message, int *fds, size_t *fd_count,
                int64_t ms)
{
    uint32_t tag = message->tag;
    for (;;) {
        wait_for(keeper, POLLIN, ms);
        enum keeper_got got = keeper_receive(keeper->socket, message, fds, fd_count, false);
        if (got == KEEPER_GOT && message->tag == tag)
            return true;
        while (*fd_count)
            close(fds[--*fd_count]);
        if (got == KEEPER_GOT)
            continue;
        if (got == KEEPER_GONE)
            keeper_lose(keeper);
        else
            log_warn("the keeper (pid %d) has not answered for %lld ms", keeper->pid,
                     (long long)ms);
        return false;
    }
}

/* --- hello --- */

static void set_limit(int fd, int64_t ms)
{
    struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static int refuse(struct err *err, int pid)
{
    err_set(err, ERR_FAILED, "a relay runs already, pid %d: use --upgrade to replace it", pid);
    return -1;
}

static int refuse_versions(struct err *err, const struct keeper_message *answer)
{
    err_set(err, ERR_FAILED, "the keeper (pid %d) is of another version of raydbg", answer->pid);
    err_why(err, "it holds %u tasks and speaks protocol %u, this raydbg speaks %d", answer->count,
            answer->version, KEEPER_PROTOCOL);
    return err_hint(err,
                    "start the relay of the version that started it; or let the tasks go: "
                    "kill %d",
                    answer->pid);
}

/* Sends SIGTERM to the relay message->pid; *message is the keeper's next one, after that relay has
 * left. */
static int replace(int socket, struct keeper_message *message, int *fds, size_t *fd_count,
                   struct err *err)
{
    int pid = message->pid;
    if (pid <= 0 || pid == getpid())
        return refuse(err, pid);
    int64_t end_us = loop_now_us() + KEEPER_WAIT_MS * 1000L;
    /* glibc has pidfd_open() since 2.36, Linux since 5.3. */
    int process = (int)syscall(SYS_pidfd_open, pid, 0);
    if (kill(pid, SIGTERM) != 0 && errno != ESRCH) {
        err_set(err, ERR_FAILED, "the relay (pid %d) cannot be told to end", pid);
        err_why(err, "%s", strerror(errno));
        if (process >= 0)
            close(process);
        return -1;
    }
    set_limit(socket, KEEPER_WAIT_MS + KEEPER_HELLO_MS);
    bool left = keeper_receive(socket, message, fds, fd_count, true) == KEEPER_GOT;
    if (process >= 0) {
        /* The relay's port is not free before its process has ended. */
        int64_t rest_ms = (end_us - loop_now_us()) / 1000;
        struct pollfd ended = {.fd = process, .events = POLLIN};
        if (left && poll(&ended, 1, rest_ms > 0 ? (int)rest_ms : 0) == 0)
            log_warn("the relay (pid %d) has left its tasks but does not end", pid);
        close(process);
    }
    if (left)
        return 0;
    err_set(err, ERR_FAILED, "the relay (pid %d) did not end within %d s", pid,
            KEEPER_WAIT_MS / 1000);
    return err_hint(err, "kill -9 %d: its tasks stay held, then start this one again", pid);
}

enum hello { HELLO_WELCOME, HELLO_AGAIN, HELLO_REFUSED };

/* Tries once. Sets *welcome to the keeper's answer and, on a welcome, keeper->memory. */
static enum hello say_hello(struct keeper *keeper, bool upgrade, struct keeper_message *welcome,
                            struct err *err)
{
    int socket = keeper->socket;
    int fds[KEEPER_BATCH];
    size_t fd_count = 0;
    *welcome = (struct keeper_message){
        .version = keeper->version, .kind = KEEPER_HELLO, .ms = keeper->orphan_ms, .flag = upgrade};
    set_limit(socket, KEEPER_HELLO_MS);
    enum keeper_got got = KEEPER_GONE;
    if (keeper_send(socket, welcome, NULL, 0, true))
        got = keeper_receive(socket, welcome, fds, &fd_count, true);
    if (got != KEEPER_GOT) {
        err_set(err, ERR_FAILED, "the keeper does not answer");
        return got == KEEPER_GONE ? HELLO_AGAIN : HELLO_REFUSED;
    }
    if (welcome->kind == KEEPER_WAIT && replace(socket, welcome, fds, &fd_count, err) != 0)
        return HELLO_REFUSED;
    if (welcome->kind == KEEPER_WELCOME && fd_count == 1) {
        keeper->memory = fds[0];
        return HELLO_WELCOME;
    }
    while (fd_count)
        close(fds[--fd_count]);
    if (welcome->kind == KEEPER_REFUSED) {
        refuse(err, welcome->pid);
        return HELLO_AGAIN;
    }
    if (welcome->kind == KEEPER_VERSIONS) {
        refuse_versions(err, welcome);
        if (welcome->version >= KEEPER_PROTOCOL_OLDEST && welcome->version < keeper->version) {
            keeper->version = welcome->version;
            return HELLO_AGAIN;
        }
    } else {
        err_set(err, ERR_FAILED, "the keeper gives nonsense");
    }
    return HELLO_REFUSED;
}

/* True if the process has ended, or has been killed and only has to notice. */
static bool is_dying(int pid)
{
    char name[64], line[256];
    bool dying = false;
    snprintf(name, sizeof name, "/proc/%d/status", pid);
    FILE *status = fopen(name, "re");
    if (!status)
        return true;
    while (!dying && fgets(line, sizeof line, status)) {
        unsigned long long pending = 0;
        char state = '\0';
        if (sscanf(line, "State: %c", &state) == 1)
            dying = state == 'Z' || state == 'X';
        else if (sscanf(line, "SigPnd: %llx", &pending) == 1 ||
                 sscanf(line, "ShdPnd: %llx", &pending) == 1)
            dying = pending >> (SIGKILL - 1) & 1;
    }
    fclose(status);
    return dying;
}

int keeper_get_in(struct keeper *keeper, bool upgrade, struct err *err)
{
    int64_t start_us = loop_now_us();
    keeper->version = KEEPER_PROTOCOL;
    for (;;) {
        keeper->socket = keeper_find(keeper->path, err);
        if (keeper->socket < 0)
            return -1;
        struct keeper_message welcome;
        enum hello hello = say_hello(keeper, upgrade, &welcome, err);
        if (hello == HELLO_WELCOME) {
            keeper->pid = welcome.pid;
            return 0;
        }
        close(keeper->socket);
        keeper->socket = -1;
        /* A keeper that has closed the connection is just ending; its successor is another. */
        bool in_use = welcome.kind == KEEPER_REFUSED && !is_dying(welcome.pid);
        int64_t limit_ms = in_use ? AGAIN_MS : KEEPER_HELLO_MS;
        if (hello == HELLO_REFUSED || loop_now_us() - start_us > limit_ms * 1000)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
}
