/* The keeper: what it holds stays open whatever happens to the relay. The relays here are forked
 * processes, or this one. */
#include "cmocka_prelude.h"

#include "base/log.h"
#include "keeper_place.h"
#include "relay/keeper.h"
#include "relay/keeper_wire.h"
#include "relay/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MINUTE = 60000 };

/* True if the process ends within `ms`; it is a child, or a keeper. */
static bool ends(pid_t pid, int ms)
{
    for (int passed = 0; passed <= ms; passed += 5) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return true;
        sleep_ms(5);
    }
    return false;
}

/* Two ends of a TCP connection. */
static void tcp_pair(int out[2])
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

static bool is_open(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
}

static bool closes(int fd, int ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};
    char byte;
    return poll(&poll_fd, 1, ms) == 1 && recv(fd, &byte, 1, MSG_DONTWAIT) <= 0;
}

static void assert_flows(int from, int to)
{
    char bytes[6] = "";
    assert_int_equal(send(from, "hello", 5, MSG_NOSIGNAL), 5);
    struct pollfd poll_fd = {.fd = to, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, 2000), 1);
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

static void on_found(void *arg, struct kept *kept, int fd, const char *snapshot, size_t len)
{
    struct found *found = arg;
    assert_true(found->count < 8);
    found->kept[found->count] = kept;
    found->fd[found->count] = fd;
    found->len[found->count] = len;
    snprintf(found->snapshot[found->count++], sizeof found->snapshot[0], "%.*s", (int)len,
             snapshot);
}

static struct keeper *start(void)
{
    struct err err = {0};
    struct keeper *keeper = keeper_start(path, MINUTE, false, &err);
    if (!keeper)
        print_error("%s: %s\n", err.what, err.why);
    assert_non_null(keeper);
    return keeper;
}

/* A process that dies with the test. */
static pid_t fork_helper(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

/* A relay in a process of its own: `body` runs with a started keeper, then it waits for a signal.
 * Returns when it is that far. */
static pid_t fork_relay(void (*body)(struct keeper *keeper), pid_t *keeper_process)
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

static void kill_relay(pid_t relay)
{
    assert_int_equal(kill(relay, SIGKILL), 0);
    assert_int_equal(waitpid(relay, NULL, 0), relay);
}

/* Ends what a take-over gave. */
static void drop_all(struct keeper *keeper)
{
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    for (size_t i = 0; i < found.count; i++) {
        kept_drop(&found.kept[i]);
        close(found.fd[i]);
    }
}

static int body_fd; /* what the bodies below put */

static void put_one(struct keeper *keeper)
{
    struct kept *kept = keeper_put(keeper, body_fd);
    if (!kept)
        _exit(2);
    kept_snapshot(kept, "{\"n\":1}", 7);
}

/* --- */

static void test_a_relay_that_leaves_is_followed_by_another(void **state)
{
    (void)state;
    int a[2], b[2];
    tcp_pair(a);
    tcp_pair(b);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    struct kept *first = keeper_put(keeper, a[0]);
    struct kept *second = keeper_put(keeper, b[0]);
    assert_non_null(first);
    assert_non_null(second);
    kept_snapshot(first, "old", 3);
    kept_snapshot(first, "new", 3);
    assert_int_equal(keeper_leave(&keeper), 2);
    assert_null(keeper);
    close(a[0]);
    close(b[0]);
    sleep_ms(20);
    assert_true(is_open(a[1]));
    assert_true(is_open(b[1]));

    keeper = start();
    assert_int_equal(keeper_pid(keeper), process);
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.snapshot[0], "new");
    assert_int_equal(found.len[1], 0); /* never had one */
    assert_flows(found.fd[0], a[1]);
    assert_flows(a[1], found.fd[0]);
    assert_flows(found.fd[1], b[1]);
    assert_true(fcntl(found.fd[0], F_GETFD) & FD_CLOEXEC);

    /* Only when both have closed it is it closed. */
    close(found.fd[0]);
    assert_true(is_open(a[1]));
    kept_drop(&found.kept[0]);
    assert_null(found.kept[0]);
    assert_true(closes(a[1], 2000));
    assert_true(is_open(b[1]));
    kept_drop(&found.kept[1]);
    assert_true(is_open(b[1]));
    close(found.fd[1]);
    assert_true(closes(b[1], 2000));
    assert_int_equal(keeper_leave(&keeper), 0);
    assert_true(ends(process, 2000));
    assert_int_equal(access(path, F_OK), -1);
    close(a[1]);
    close(b[1]);
}

static void test_a_keeper_with_nothing_ends_with_its_relay(void **state)
{
    (void)state;
    pid_t keeper;
    pid_t relay = fork_relay(NULL, &keeper);
    assert_false(ends(keeper, 50));
    kill_relay(relay);
    assert_true(ends(keeper, 2000));
}

static void test_what_it_does_not_hand_out_stays(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    kept_snapshot(keeper_put(keeper, pair[0]), "one", 3);
    keeper_leave(&keeper);
    keeper = start(); /* takes nothing over, puts another */
    kept_snapshot(keeper_put(keeper, pair[0]), "two", 3);
    assert_int_equal(keeper_leave(&keeper), 2);
    keeper = start();
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 2);
    assert_string_equal(found.snapshot[0], "one");
    assert_string_equal(found.snapshot[1], "two");
    for (int i = 0; i < 2; i++) {
        kept_drop(&found.kept[i]);
        close(found.fd[i]);
    }
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

static void test_a_peer_that_has_closed(void **state)
{
    (void)state;
    int gone[2], stays[2];
    tcp_pair(gone);
    tcp_pair(stays);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    keeper_put(keeper, gone[0]);
    keeper_put(keeper, stays[0]);
    keeper_leave(&keeper);
    close(gone[0]);
    close(stays[0]);
    assert_int_equal(send(gone[1], "last words", 10, 0), 10);
    close(gone[1]);
    sleep_ms(20);
    keeper = start();
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 2);
    char bytes[16];
    assert_int_equal(recv(found.fd[0], bytes, sizeof bytes, MSG_DONTWAIT), 10);
    assert_int_equal(recv(found.fd[0], bytes, sizeof bytes, MSG_DONTWAIT), 0);
    assert_flows(found.fd[1], stays[1]);
    close(found.fd[0]);
    close(found.fd[1]);
    keeper_leave(&keeper);
    /* With every peer gone there is nothing to wait for. */
    assert_false(ends(process, 50));
    close(stays[1]);
    assert_true(ends(process, 2000));
}

static void test_it_lets_go_when_no_relay_comes(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = keeper_start(path, 300, false, NULL);
    assert_non_null(keeper);
    int process = keeper_pid(keeper);
    assert_non_null(keeper_put(keeper, pair[0]));
    sleep_ms(500);
    assert_true(is_open(pair[1])); /* the time runs only without a relay */
    keeper_leave(&keeper);
    close(pair[0]);
    sleep_ms(100);
    assert_true(is_open(pair[1]));
    assert_true(closes(pair[1], 2000));
    assert_true(ends(process, 2000));
    char log[2048] = "", name[300];
    snprintf(name, sizeof name, "%s.log", path);
    int fd = open(name, O_RDONLY);
    assert_true(fd >= 0 && read(fd, log, sizeof log - 1) > 0);
    assert_non_null(strstr(log, "warning: no relay came within 0 s: 1 connections are let go"));
    close(fd);
    close(pair[1]);
}

static void test_the_log_cannot_be_written(void **state)
{
    (void)state;
    char name[300];
    snprintf(name, sizeof name, "%s.log", path);
    assert_int_equal(symlink("/dev/full", name), 0);
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    keeper_put(keeper, pair[0]);
    keeper_leave(&keeper);
    keeper = start();
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    kept_drop(&found.kept[0]);
    close(found.fd[0]);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

/* --- one relay at a time --- */

static void test_a_second_relay_is_refused(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t process;
    pid_t relay = fork_relay(put_one, &process);
    struct err err = {0};
    assert_null(keeper_start(path, MINUTE, false, &err));
    char expected[128];
    snprintf(expected, sizeof expected, "a relay runs already, pid %d: use --upgrade to replace it",
             (int)relay);
    assert_string_equal(err.what, expected);
    assert_int_equal(err.code, ERR_FAILED);
    assert_false(ends(relay, 20));
    kill_relay(relay);
    struct keeper *keeper = start();
    drop_all(keeper);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

static struct keeper *own_keeper;

static void leave_and_end(int number)
{
    (void)number;
    keeper_leave(&own_keeper); /* the process waits in pause(): this is as good as a loop */
    sleep_ms(100);
    _exit(0);
}

static void put_and_obey(struct keeper *keeper)
{
    put_one(keeper);
    own_keeper = keeper;
    signal(SIGTERM, leave_and_end);
}

static void put_and_ignore(struct keeper *keeper)
{
    put_one(keeper);
    signal(SIGTERM, SIG_IGN);
}

static void test_an_upgrade_waits_for_the_relay_to_end(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t process;
    pid_t relay = fork_relay(put_and_obey, &process);
    struct err err = {0};
    struct keeper *keeper = keeper_start(path, MINUTE, true, &err);
    assert_non_null(keeper);
    assert_int_equal(waitpid(relay, NULL, WNOHANG), relay); /* it has ended, not only left */
    assert_int_equal(keeper_pid(keeper), process);
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.snapshot[0], "{\"n\":1}");
    assert_flows(found.fd[0], pair[1]);
    kept_drop(&found.kept[0]);
    close(found.fd[0]);
    keeper_leave(&keeper);
    /* Without a relay an upgrade is a start. */
    keeper = keeper_start(path, MINUTE, true, &err);
    assert_non_null(keeper);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

static void test_an_upgrade_of_a_deaf_relay_gives_up(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t relay = fork_relay(put_and_ignore, NULL);
    struct err err = {0};
    int64_t before = loop_now_us();
    assert_null(keeper_start(path, MINUTE, true, &err));
    assert_in_range((loop_now_us() - before) / 1000, 9000, 12000);
    char expected[128];
    snprintf(expected, sizeof expected, "the relay (pid %d) did not end within 10 s", (int)relay);
    assert_string_equal(err.what, expected);
    assert_true(is_open(pair[1]));
    kill_relay(relay);
    struct keeper *keeper = start();
    drop_all(keeper);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

/* Of many that start at the same moment one is served, by the only keeper. */
static void test_relays_that_start_at_once(void **state)
{
    (void)state;
    enum { RELAYS = 8 };
    for (int round = 0; round < 5; round++) {
        int go[2], came[2];
        pid_t relays[RELAYS];
        assert_int_equal(pipe2(go, O_CLOEXEC), 0);
        assert_int_equal(pipe2(came, O_CLOEXEC), 0);
        for (int i = 0; i < RELAYS; i++) {
            relays[i] = fork_helper();
            if (relays[i] == 0) {
                char byte;
                close(go[1]);
                if (read(go[0], &byte, 1) != 0)
                    _exit(1);
                struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
                byte = keeper ? 'y' : 'n';
                if (write(came[1], &byte, 1) != 1)
                    _exit(1);
                for (;;)
                    pause();
            }
        }
        close(go[0]);
        close(go[1]);
        int served = 0;
        for (int i = 0; i < RELAYS; i++) {
            char byte;
            struct pollfd poll_fd = {.fd = came[0], .events = POLLIN};
            assert_int_equal(poll(&poll_fd, 1, 10000), 1);
            assert_int_equal(read(came[0], &byte, 1), 1);
            served += byte == 'y';
        }
        assert_int_equal(served, 1);
        for (int i = 0; i < RELAYS; i++)
            kill_relay(relays[i]);
        int status;
        pid_t process = waitpid(-1, &status, 0); /* its keeper, the only one */
        assert_true(process > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        close(came[0]);
        close(came[1]);
    }
}

/* --- versions --- */

static int dial_raw(void)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void test_a_relay_of_another_version_is_refused(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    keeper_put(keeper, pair[0]);
    keeper_leave(&keeper);
    close(pair[0]);
    /* A longer message, as another version's may be, and no more than the fixed fields. */
    for (size_t size = 20; size <= 400; size += 380) {
        uint32_t hello[100] = {KEEPER_MAGIC, KEEPER_PROTOCOL + 1, KEEPER_HELLO};
        int fd = dial_raw();
        assert_int_equal(send(fd, hello, size, 0), size);
        struct keeper_message answer;
        ssize_t len = recv(fd, &answer, sizeof answer, 0);
        assert_true(len >= 20);
        assert_int_equal(answer.kind, KEEPER_VERSIONS);
        assert_int_equal(answer.version, KEEPER_PROTOCOL);
        assert_int_equal(answer.pid, process);
        assert_int_equal(answer.count, 1);
        close(fd);
    }
    /* And nonsense. */
    int fd = dial_raw();
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    assert_true(closes(fd, 1000));
    close(fd);
    assert_true(is_open(pair[1]));
    keeper = start();
    assert_int_equal(keeper_pid(keeper), process);
    drop_all(keeper);
    keeper_leave(&keeper);
    close(pair[1]);
}

static void test_a_keeper_of_another_version_is_left_alone(void **state)
{
    (void)state;
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    pid_t other = fork_helper();
    if (other == 0) {
        int fd = accept(listener, NULL, NULL);
        uint32_t message[100] = {0};
        uint32_t answer[5] = {KEEPER_MAGIC, 77, KEEPER_VERSIONS, 4321, 3};
        _exit(recv(fd, message, sizeof message, 0) < 20 ||
              send(fd, answer, sizeof answer, 0) != sizeof answer);
    }
    close(listener);
    struct err err = {0};
    assert_null(keeper_start(path, MINUTE, true, &err));
    assert_non_null(strstr(err.what, "the keeper (pid 4321) is of another version"));
    assert_non_null(strstr(err.why, "it holds 3 tasks and speaks protocol 77"));
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
}

/* --- what may hit it --- */

static void test_a_dead_keeper_is_replaced(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    struct kept *kept = keeper_put(keeper, pair[0]);
    assert_non_null(kept);
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    log_set_level("error");
    assert_null(keeper_put(keeper, pair[0]));
    assert_null(keeper_put(keeper, pair[0]));
    kept_snapshot(kept, "still fine", 10);
    kept_drop(&kept);
    assert_int_equal(keeper_leave(&keeper), 0);
    log_set_level("warn");
    assert_int_equal(access(path, F_OK), 0); /* stale */
    keeper = start();
    assert_int_not_equal(keeper_pid(keeper), process);
    assert_non_null(keeper_put(keeper, pair[0]));
    drop_all(keeper);
    process = keeper_pid(keeper);
    keeper_leave(&keeper);
    assert_int_equal(kill(process, SIGTERM), 0);
    assert_true(ends(process, 2000));
    close(pair[0]);
    assert_true(closes(pair[1], 1000));
    close(pair[1]);
}

/* A keeper that does not answer costs the relay a second, once; what was put meanwhile is not
 * kept for ever. */
static void test_a_stopped_keeper_does_not_stop_the_relay(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    assert_int_equal(kill(process, SIGSTOP), 0);
    log_set_level("error");
    int64_t before = loop_now_us();
    for (int i = 0; i < 10; i++)
        assert_null(keeper_put(keeper, pair[0]));
    assert_in_range((loop_now_us() - before) / 1000, 900, 2500);
    log_set_level("warn");
    assert_int_equal(kill(process, SIGCONT), 0);
    assert_int_equal(keeper_leave(&keeper), 0);
    assert_true(ends(process, 2000));
    close(pair[0]);
    assert_true(closes(pair[1], 1000));
    close(pair[1]);
}

static void test_the_terminals_signals_do_not_reach_it(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
    pid_t first = 0;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        int gate[2];
        assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
        pid_t relay = fork_helper();
        if (relay == 0) {
            setsid();
            prctl(PR_SET_DUMPABLE, 0);
            struct rlimit none = {0, 0};
            setrlimit(RLIMIT_CORE, &none);
            struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
            if (!keeper)
                _exit(1);
            if (i == 0)
                put_one(keeper);
            int pid = keeper_pid(keeper);
            if (write(gate[1], &pid, sizeof pid) != sizeof pid)
                _exit(1);
            for (;;)
                pause();
        }
        close(gate[1]);
        int process;
        assert_int_equal(read(gate[0], &process, sizeof process), sizeof process);
        first = i ? first : process;
        assert_int_equal(process, first);
        assert_int_not_equal(getpgid(process), getpgid(relay));
        assert_int_not_equal(getsid(process), getsid(relay));
        assert_int_equal(kill(-relay, signals[i]), 0);
        assert_true(ends(relay, 2000));
        char byte; /* the keeper has not inherited the pipe */
        assert_int_equal(read(gate[0], &byte, 1), 0);
        close(gate[0]);
    }
    /* And what only a terminal sends would not end it either. */
    assert_int_equal(kill(first, SIGINT), 0);
    assert_int_equal(kill(first, SIGHUP), 0);
    struct keeper *keeper = start();
    assert_int_equal(keeper_pid(keeper), first);
    assert_true(is_open(pair[1]));
    drop_all(keeper);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

static void test_what_it_shows(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t process;
    pid_t relay = fork_relay(put_one, &process);
    char name[64], text[512] = "", expected[300];
    snprintf(name, sizeof name, "/proc/%d/cmdline", (int)process);
    int fd = open(name, O_RDONLY);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    snprintf(expected, sizeof expected, "raydbg-keeper %s", path);
    assert_string_equal(text, expected);
    memset(text, 0, sizeof text);
    snprintf(name, sizeof name, "/proc/%d/comm", (int)process);
    fd = open(name, O_RDONLY);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_string_equal(text, "raydbg-keeper\n");
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_true(S_ISSOCK(file.st_mode));
    assert_int_equal(file.st_mode & 0777, 0600);
    /* 0 to 2, the socket, the memory, the log, the relay, and one connection. */
    int open_fds = 0;
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof name, "/proc/%d/fd/%d", (int)process, i);
        open_fds += readlink(name, text, sizeof text) > 0;
    }
    assert_int_equal(open_fds, 8);
    kill_relay(relay);
    struct keeper *keeper = start();
    drop_all(keeper);
    keeper_leave(&keeper);
    close(pair[0]);
    close(pair[1]);
}

#ifndef __SANITIZE_ADDRESS__
static long private_kib(pid_t process)
{
    char name[64], text[256];
    snprintf(name, sizeof name, "/proc/%d/smaps_rollup", (int)process);
    FILE *smaps = fopen(name, "r");
    assert_non_null(smaps);
    long kib = 0, sum = 0;
    while (fgets(text, sizeof text, smaps))
        if (sscanf(text, "Private_Dirty: %ld", &kib) == 1 ||
            sscanf(text, "Private_Clean: %ld", &kib) == 1)
            sum += kib;
    fclose(smaps);
    return sum;
}

/* The relay is this program, started anew: when it is dead the keeper shares no page with
 * anybody. */
static void test_it_is_small(void **state)
{
    (void)state;
    int said[2], pair[2];
    tcp_pair(pair);
    assert_int_equal(pipe(said), 0);
    pid_t relay = fork_helper();
    if (relay == 0) {
        char put[16];
        snprintf(put, sizeof put, "%d", dup(pair[0])); /* the duplicate is inherited */
        dup2(said[1], 1);
        execl("/proc/self/exe", "test_relay_keeper", path, put, (char *)NULL);
        _exit(1);
    }
    close(said[1]);
    char text[32] = "";
    assert_true(read(said[0], text, sizeof text - 1) > 0);
    kill_relay(relay);
    sleep_ms(50);
    long kib = private_kib((pid_t)atoi(text));
    print_message("private memory of the keeper: %ld KiB\n", kib);
    assert_in_range(kib, 1, 2047);
    struct keeper *keeper = start();
    drop_all(keeper);
    keeper_leave(&keeper);
    close(said[0]);
    close(pair[0]);
    close(pair[1]);
}
#endif

static void test_who_may_connect(void **state)
{
    (void)state;
    struct err err = {0};
    assert_int_equal(chmod(directory, 0755), 0);
    assert_null(keeper_start(path, MINUTE, false, &err));
    assert_non_null(strstr(err.why, "open to other users (mode 755"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(chmod(directory, 0700), 0);
    /* Directories that are missing are made for this user alone; a long path is fine. */
    char plain[256];
    memcpy(plain, path, sizeof plain);
    snprintf(path, sizeof path, "%s/a/%0150d/keeper.sock", directory, 7);
    struct keeper *keeper = start();
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0700);
    keeper_leave(&keeper);
    memcpy(path, plain, sizeof path);
    if (geteuid() != 0) {
        print_message("not root: another user's connection is not tried\n");
        return;
    }
    pid_t process;
    pid_t relay = fork_relay(NULL, &process);
    assert_int_equal(chmod(directory, 0755), 0);
    assert_int_equal(chmod(path, 0666), 0);
    pid_t other = fork_helper();
    if (other == 0) {
        if (setgroups(0, NULL) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
            _exit(1);
        int fd = dial_raw();
        struct keeper_message hello = {.kind = KEEPER_HELLO};
        if (fd < 0)
            _exit(2);
        keeper_send(fd, &hello, NULL, 0, true);
        _exit(closes(fd, 1000) ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    kill_relay(relay);
    assert_int_equal(chmod(directory, 0700), 0);
}

/* --- many --- */

static size_t many_found;

static void count_found(void *arg, struct kept *kept, int fd, const char *snapshot, size_t len)
{
    int *last = arg;
    int n = -1;
    if (sscanf(snapshot, "number %d ", &n) != 1 || n <= *last || len < 1000)
        _exit(3);
    if (send(fd, &n, sizeof n, MSG_NOSIGNAL) != sizeof n)
        _exit(4);
    *last = n;
    many_found++;
    close(fd);
    kept_drop(&kept);
}

static void test_five_thousand(void **state)
{
    (void)state;
    struct rlimit limit;
    keeper_raise_fd_limit();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int count = limit.rlim_cur < 16000 ? (int)(limit.rlim_cur - 500) / 3 : 5000;
    int *peers = calloc((size_t)count, sizeof *peers);
    char text[1200];
    memset(text, 'x', sizeof text);
    struct keeper *keeper = start();
    int64_t before = loop_now_us();
    for (int i = 0; i < count; i++) {
        int pair[2];
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        struct kept *kept = keeper_put(keeper, pair[0]);
        assert_non_null(kept);
        snprintf(text, 32, "number %d ", i);
        kept_snapshot(kept, text, sizeof text);
        peers[i] = pair[1];
        close(pair[0]);
    }
    int64_t put = loop_now_us();
    assert_int_equal(keeper_leave(&keeper), count);
    /* A soft limit as a login shell has it is no obstacle. */
    struct rlimit low = {1024, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    int64_t again = loop_now_us();
    keeper = start();
    int last = -1;
    keeper_take_over(keeper, count_found, &last);
    int64_t taken = loop_now_us();
    assert_int_equal(many_found, count);
    assert_int_equal(keeper_leave(&keeper), 0);
    for (int i = 0; i < count; i++) {
        int n = -1;
        assert_int_equal(recv(peers[i], &n, sizeof n, 0), sizeof n);
        assert_int_equal(n, i);
        close(peers[i]);
    }
    print_message("%d connections: put in %lld ms, taken over in %lld ms\n", count,
                  (long long)(put - before) / 1000, (long long)(taken - again) / 1000);
    free(peers);
}

/* For test_it_is_small(): PATH FD. */
static int be_a_relay(char **argv)
{
    snprintf(path, sizeof path, "%s", argv[1]);
    struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
    if (!keeper || !keeper_put(keeper, atoi(argv[2])))
        return 1;
    printf("%d\n", keeper_pid(keeper));
    fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    if (argc == 3)
        return be_a_relay(argv);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_relay_that_leaves_is_followed_by_another),
        TEST(test_a_keeper_with_nothing_ends_with_its_relay),
        TEST(test_what_it_does_not_hand_out_stays),
        TEST(test_a_peer_that_has_closed),
        TEST(test_it_lets_go_when_no_relay_comes),
        TEST(test_the_log_cannot_be_written),
        TEST(test_a_second_relay_is_refused),
        TEST(test_an_upgrade_waits_for_the_relay_to_end),
        TEST(test_an_upgrade_of_a_deaf_relay_gives_up),
        TEST(test_relays_that_start_at_once),
        TEST(test_a_relay_of_another_version_is_refused),
        TEST(test_a_keeper_of_another_version_is_left_alone),
        TEST(test_a_dead_keeper_is_replaced),
        TEST(test_a_stopped_keeper_does_not_stop_the_relay),
        TEST(test_the_terminals_signals_do_not_reach_it),
        TEST(test_what_it_shows),
#ifndef __SANITIZE_ADDRESS__
        TEST(test_it_is_small),
#endif
        TEST(test_who_may_connect),
        TEST(test_five_thousand),
    };
    return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
