/* What the tests of the keeper share: a directory for its socket, relays in processes of their own,
 * and the certainty that no keeper is left over (keepers become children of the test:
 * PR_SET_CHILD_SUBREAPER in main). */
#ifndef RAYDBG_TESTS_KEEPER_FIXTURE_H
#define RAYDBG_TESTS_KEEPER_FIXTURE_H

#include "relay/keeper/keeper.h"
#include "waits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MINUTE = 60000 };

static char directory[64];
static char path[256]; /* of the socket */

static inline int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/raydbg-keeper-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/keeper.sock", directory);
    return 0;
}

/* No keeper and no relay may be left; then the directory goes. */
static inline int teardown(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    pid_t left;
    int64_t end_ms = wait_now_ms() + wait_limit_ms();
    while ((left = waitpid(-1, NULL, WNOHANG)) >= 0 && wait_now_ms() < end_ms)
        if (left == 0)
            settle_us(1000);
    if (left >= 0)
        print_error("a process is left over\n");
    return left >= 0 || system(command) != 0 ? -1 : 0;
}

/* For a child, or a keeper. */
static inline bool is_running(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) == 0;
}

static inline void wait_end(pid_t pid)
{
    WAIT_UNTIL(!is_running(pid));
}

/* A fence: the keeper has handled what came before it closes a connection that says nothing. */
static inline void keeper_fence(void)
{
    char byte;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    shutdown(fd, SHUT_WR);
    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

/* Two ends of a TCP connection. */
static inline void tcp_pair(int out[2])
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
    out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(out[0], (struct sockaddr *)&address, len), 0);
    out[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(out[1] >= 0);
    close(listener);
}

static inline bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

/* Whether the other end closes the connection, sooner or later, without having sent anything. */
static inline bool closes(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};
    char byte;
    return poll(&poll_fd, 1, (int)wait_limit_ms()) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static inline void assert_flows(int from, int to)
{
    char bytes[6] = "";
    assert_int_equal(send(from, "hello", 5, MSG_NOSIGNAL), 5);
    struct pollfd poll_fd = {.fd = to, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, (int)wait_limit_ms()), 1);
    assert_int_equal(recv(to, bytes, sizeof bytes, MSG_DONTWAIT), 5);
    assert_string_equal(bytes, "hello");
}

/* What a take-over gave, in its order. */
struct found {
    struct kept *kept[8];
    int fd[8];
    char snapshot[8][64];
    size_t len[8];
    size_t count;
};

static inline void on_found(void *arg, struct kept *kept, int fd, const char *snapshot, size_t len)
{
    struct found *found = arg;
    assert_true(found->count < 8);
    found->kept[found->count] = kept;
    found->fd[found->count] = fd;
    found->len[found->count] = len;
    snprintf(found->snapshot[found->count++], sizeof found->snapshot[0], "%.*s", (int)len,
             snapshot);
}

static inline struct keeper *start(void)
{
    struct err err = {0};
    struct keeper *keeper = keeper_start(path, MINUTE, false, &err);
    if (!keeper)
        print_error("%s: %s\n", err.what, err.why);
    assert_non_null(keeper);
    return keeper;
}

/* A process that dies with the test. */
static inline pid_t fork_helper(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* A relay in a process of its own: `body` runs with a started keeper, then it waits for a signal.
 * Returns when it is that far. */
static inline pid_t fork_relay(void (*body)(struct keeper *keeper), pid_t *keeper_process)
{
    int ready[2];
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t relay = fork_helper();
    if (relay == 0) {
        struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
        if (!keeper)
            _exit(1);
        if (body)
            body(keeper);
        int pid = keeper_pid(keeper);
        if (write(ready[1], &pid, sizeof pid) != sizeof pid)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    int pid;
    assert_int_equal(read(ready[0], &pid, sizeof pid), sizeof pid);
    close(ready[0]);
    if (keeper_process)
        *keeper_process = pid;
    return relay;
}

static inline void kill_relay(pid_t relay)
{
    assert_int_equal(kill(relay, SIGKILL), 0);
    assert_int_equal(waitpid(relay, NULL, 0), relay);
}

static inline void drop_found(void *arg, struct kept *kept, int fd, const char *snapshot,
                              size_t len)
{
    (void)arg;
    (void)snapshot;
    (void)len;
    kept_drop(&kept);
    close(fd);
}

/* Takes everything over and ends it. */
static inline void drop_all(struct keeper *keeper)
{
    keeper_take_over(keeper, drop_found, NULL);
}

static int body_fd; /* what the bodies below put */

static inline void put_one(struct keeper *keeper)
{
    if (!keeper_put(keeper, body_fd, "{\"n\":1}", 7, 0))
        _exit(2);
}

#endif
