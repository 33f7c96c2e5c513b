/* The keeper: what it holds stays open whatever happens to the relay. The relays here are forked
 * processes, or this one. */
#include "cmocka_prelude.h"

#include "base/log.h"
#include "keeper_fixture.h"
#include "relay/io/daemon.h"
#include "relay/io/loop.h"
#include "relay/keeper/keeper.h"
#include "relay/keeper/keeper_process.h"
#include "relay/keeper/keeper_snapshots.h"
#include "relay/keeper/keeper_wire.h"

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

/* A sanitizer's own memory says nothing of the keeper's. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

static void test_a_relay_that_leaves_is_followed_by_another(void **state)
{
    (void)state;
    int a[2], b[2];
    tcp_pair(a);
    tcp_pair(b);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    struct kept *first = keeper_put(keeper, a[0], NULL, 0, 0);
    struct kept *second = keeper_put(keeper, b[0], NULL, 0, 0);
    assert_non_null(first);
    assert_non_null(second);
    kept_snapshot(first, "old", 3, 0);
    kept_snapshot(first, "new", 3, 0);
    assert_int_equal(keeper_leave(&keeper), 2);
    assert_null(keeper);
    close(a[0]);
    close(b[0]);

    keeper = start();
    assert_true(is_open(a[1]));
    assert_true(is_open(b[1]));
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
    assert_true(closes(a[1]));
    assert_true(is_open(b[1]));
    kept_drop(&found.kept[1]);
    assert_true(is_open(b[1]));
    close(found.fd[1]);
    assert_true(closes(b[1]));
    assert_int_equal(keeper_leave(&keeper), 0);
    wait_end(process);
    assert_int_equal(access(path, F_OK), -1);
    close(a[1]);
    close(b[1]);
}

static void test_a_keeper_with_nothing_ends_with_its_relay(void **state)
{
    (void)state;
    pid_t keeper;
    pid_t relay = fork_relay(NULL, &keeper);
    keeper_fence();
    assert_true(is_running(keeper));
    kill_relay(relay);
    wait_end(keeper);
}

static void test_what_it_does_not_hand_out_stays(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    kept_snapshot(keeper_put(keeper, pair[0], NULL, 0, 0), "one", 3, 0);
    keeper_leave(&keeper);
    keeper = start(); /* takes nothing over, puts another */
    kept_snapshot(keeper_put(keeper, pair[0], NULL, 0, 0), "two", 3, 0);
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
    keeper_put(keeper, gone[0], NULL, 0, 0);
    keeper_put(keeper, stays[0], NULL, 0, 0);
    keeper_leave(&keeper);
    close(gone[0]);
    close(stays[0]);
    assert_int_equal(send(gone[1], "last words", 10, 0), 10);
    close(gone[1]);
    keeper_fence();
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
    keeper_fence();
    assert_true(is_running(process));
    close(stays[1]);
    wait_end(process);
}

static void test_it_lets_go_when_no_relay_comes(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    enum { ORPHAN_MS = 300 };
    struct keeper *keeper = keeper_start(path, ORPHAN_MS, false, NULL);
    assert_non_null(keeper);
    int process = keeper_pid(keeper);
    assert_non_null(keeper_put(keeper, pair[0], NULL, 0, 0));
    settle_us(2 * ORPHAN_MS * 1000);
    keeper_fence();
    assert_true(is_open(pair[1])); /* the time runs only without a relay */
    close(pair[0]);
    int64_t left_ms = wait_now_ms();
    keeper_leave(&keeper);
    assert_true(closes(pair[1]));
    assert_true(wait_now_ms() - left_ms >= ORPHAN_MS);
    wait_end(process);
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
    keeper_put(keeper, pair[0], NULL, 0, 0);
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

/* A link in its place does not have the keeper write into another file. */
static void test_the_log_follows_no_link(void **state)
{
    (void)state;
    char name[300], other[300];
    struct stat file;
    snprintf(name, sizeof name, "%s.log", path);
    snprintf(other, sizeof other, "%s.other", path);
    int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlink(other, name), 0);
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    keeper_put(keeper, pair[0], NULL, 0, 0);
    keeper_leave(&keeper); /* the keeper notes who waits then */
    keeper = start();
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(stat(other, &file), 0);
    assert_int_equal(file.st_size, 0);
    kept_drop(&found.kept[0]);
    close(found.fd[0]);
    keeper_leave(&keeper);
    unlink(other);
    close(pair[0]);
    close(pair[1]);
}

/* Whatever the memory has under a slot: it is not the notes of the connection that comes next. */
static void test_a_slots_old_snapshot_is_nobodys(void **state)
{
    (void)state;
    int pair[2];
    struct found found = {0};
    char memory[64];
    const uint32_t slot = 0;
    tcp_pair(pair);
    struct keeper *keeper = start();
    snprintf(memory, sizeof memory, "/proc/%d/fd/%d", keeper_pid(keeper), DAEMON_MEMORY_FD);
    int fd = open(memory, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    struct keeper_snapshots *other = keeper_snapshots_open(fd, &slot, 1, NULL);
    assert_true(keeper_snapshots_write(other, slot, "stale", 5, 0));
    keeper_snapshots_close(&other);
    close(fd);
    assert_non_null(keeper_put(keeper, pair[0], NULL, 0, 0));
    assert_int_equal(keeper_leave(&keeper), 1);
    keeper = start();
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    assert_int_equal(found.len[0], 0);
    kept_drop(&found.kept[0]);
    keeper_leave(&keeper);
    close(found.fd[0]);
    close(pair[0]);
    close(pair[1]);
}

/* --- what may hit it --- */

static void test_a_dead_keeper_is_replaced(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    struct kept *kept = keeper_put(keeper, pair[0], NULL, 0, 0);
    assert_non_null(kept);
    assert_int_equal(kill(process, SIGKILL), 0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    log_set_level("error");
    assert_null(keeper_put(keeper, pair[0], NULL, 0, 0));
    assert_null(keeper_put(keeper, pair[0], NULL, 0, 0));
    kept_snapshot(kept, "still fine", 10, 0);
    kept_drop(&kept);
    assert_int_equal(keeper_leave(&keeper), 0);
    log_set_level("warn");
    assert_int_equal(access(path, F_OK), 0); /* stale */
    keeper = start();
    assert_int_not_equal(keeper_pid(keeper), process);
    assert_non_null(keeper_put(keeper, pair[0], NULL, 0, 0));
    drop_all(keeper);
    process = keeper_pid(keeper);
    keeper_leave(&keeper);
    assert_int_equal(kill(process, SIGTERM), 0);
    wait_end(process);
    close(pair[0]);
    assert_true(closes(pair[1]));
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
        wait_end(relay);
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

#ifndef SANITIZED
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
    keeper_fence();
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

/* --- many --- */

static void put_until_full(struct keeper *keeper)
{
    size_t count = 0;
    log_set_level("error");
    while (keeper_put(keeper, body_fd, NULL, 0, 0))
        count++;
    if (count < 8 || count > 100 || keeper_put(keeper, body_fd, NULL, 0, 0))
        _exit(2);
}

/* It goes on serving when it has no descriptor left for keeping. */
static void test_a_keeper_that_is_full(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    struct rlimit low = {100, 100};
    body_fd = pair[0];
    pid_t starter = fork_helper();
    if (starter == 0) {
        if (setrlimit(RLIMIT_NOFILE, &low) != 0)
            _exit(1);
        struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
        if (!keeper)
            _exit(1);
        put_until_full(keeper);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(starter, &status, 0), starter);
    assert_int_equal(status, 0);
    struct keeper *keeper = start();
    drop_all(keeper);
    struct kept *kept = keeper_put(keeper, pair[0], NULL, 0, 0);
    assert_non_null(kept);
    kept_drop(&kept);
    assert_int_equal(keeper_leave(&keeper), 0);
    close(pair[0]);
    close(pair[1]);
}

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
    loop_raise_fd_limit();
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
        struct kept *kept = keeper_put(keeper, pair[0], NULL, 0, 0);
        assert_non_null(kept);
        snprintf(text, 32, "number %d ", i);
        kept_snapshot(kept, text, sizeof text, 0);
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
    if (!keeper || !keeper_put(keeper, atoi(argv[2]), NULL, 0, 0))
        return 1;
    printf("%d\n", keeper_pid(keeper));
    fflush(stdout);
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
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
        TEST(test_the_log_follows_no_link),
        TEST(test_a_slots_old_snapshot_is_nobodys),
        TEST(test_a_dead_keeper_is_replaced),
        TEST(test_the_terminals_signals_do_not_reach_it),
        TEST(test_what_it_shows),
#ifndef SANITIZED
        TEST(test_it_is_small),
#endif
        TEST(test_a_keeper_that_is_full),
        TEST(test_five_thousand),
    };
    return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
