/* A keeper that is slow to answer: stopped, as a machine under load may leave it for seconds. */
#include "cmocka_prelude.h"

#include "base/log.h"
#include "keeper_fixture.h"
#include "relay/io/loop.h"
#include "relay/keeper/keeper_process.h"

#include <sys/resource.h>
#include <sys/time.h>

enum { LATE_MS = 1500 }; /* more than a keeper that is just ending gets */

static void stop_and_put_one(struct keeper *keeper)
{
    log_set_level("error");
    if (kill(keeper_pid(keeper), SIGSTOP) != 0)
        _exit(3);
    put_one(keeper);
}

/* What was sent to a slow keeper is kept, even if the relay dies before the keeper reads it. */
static void test_a_relay_dies_before_its_keeper_has_answered(void **state)
{
    (void)state;
    int pair[2];
    tcp_pair(pair);
    body_fd = pair[0];
    pid_t process;
    pid_t relay = fork_relay(stop_and_put_one, &process);
    kill_relay(relay);
    close(pair[0]);
    assert_true(is_open(pair[1]));
    assert_int_equal(kill(process, SIGCONT), 0);
    struct keeper *keeper = start();
    assert_int_equal(keeper_pid(keeper), process);
    struct found found = {0};
    keeper_take_over(keeper, on_found, &found);
    assert_int_equal(found.count, 1);
    assert_string_equal(found.snapshot[0], "{\"n\":1}");
    assert_flows(found.fd[0], pair[1]);
    assert_flows(pair[1], found.fd[0]);
    kept_drop(&found.kept[0]);
    close(found.fd[0]);
    assert_int_equal(keeper_leave(&keeper), 0);
    close(pair[1]);
}

/* A relay that dies `ms` after it began to put a connection into a keeper that is stopped. Returns
 * the keeper's pid. */
static pid_t die_while_putting(int ms)
{
    int ready[2], process = 0;
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t relay = fork_helper();
    if (relay == 0) {
        struct itimerval timer = {.it_value.tv_usec = ms * 1000};
        struct keeper *keeper = keeper_start(path, MINUTE, false, NULL);
        log_set_level("error");
        process = keeper ? keeper_pid(keeper) : 0;
        if (!process || write(ready[1], &process, sizeof process) != sizeof process ||
            kill(process, SIGSTOP) != 0)
            _exit(1);
        setitimer(ITIMER_REAL, &timer, NULL); /* SIGALRM ends the process, wherever it is */
        keeper_put(keeper, body_fd, "first", 5, 0);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &process, sizeof process), sizeof process);
    close(ready[0]);
    int status;
    assert_int_equal(waitpid(relay, &status, 0), relay);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
    return process;
}

/* No keeper holds a connection without its snapshot: the next relay would let its task go. */
static void test_a_relay_dies_while_its_keeper_is_asked(void **state)
{
    (void)state;
    int pair[2];
    struct found found = {0};
    tcp_pair(pair);
    body_fd = pair[0];
    /* A relay on a busy machine may die before it has sent anything. */
    for (int ms = 100; !found.count; ms += ms < 900 ? 100 : 0) {
        pid_t process = die_while_putting(ms);
        assert_int_equal(kill(process, SIGCONT), 0);
        struct keeper *keeper = start();
        keeper_take_over(keeper, on_found, &found);
        if (found.count) {
            assert_int_equal(found.count, 1);
            assert_string_equal(found.snapshot[0], "first");
            kept_drop(&found.kept[0]);
            close(found.fd[0]);
        }
        assert_int_equal(keeper_leave(&keeper), 0);
    }
    close(pair[0]);
    close(pair[1]);
}

/* The keeper's answers come when it runs again; hears them all. */
static void hear_again(struct keeper *keeper, int process)
{
    struct pollfd answer = {.fd = keeper_socket(keeper), .events = POLLIN};
    assert_int_equal(kill(process, SIGCONT), 0);
    assert_int_equal(poll(&answer, 1, MINUTE), 1);
    assert_true(keeper_hear(keeper));
}

/* A keeper that does not answer costs the relay a second, once; what is dropped meanwhile is not
 * kept for ever. */
static void test_a_stopped_keeper_does_not_stop_the_relay(void **state)
{
    (void)state;
    int pair[2];
    struct kept *kept[10];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    assert_int_equal(kill(process, SIGSTOP), 0);
    log_set_level("error");
    int64_t before = loop_now_us();
    for (size_t i = 0; i < 10; i++)
        assert_non_null(kept[i] = keeper_put(keeper, pair[0], NULL, 0, 0));
    assert_in_range((loop_now_us() - before) / 1000, 900, 9 * 900);
    log_set_level("warn");
    for (size_t i = 0; i < 9; i++)
        kept_drop(&kept[i]);
    hear_again(keeper, process);
    assert_false(kept_is_refused(kept[9]));
    assert_false(keeper_take_missed(keeper));
    kept_drop(&kept[9]);
    assert_int_equal(keeper_leave(&keeper), 0);
    wait_end(process);
    close(pair[0]);
    assert_true(closes(pair[1]));
    close(pair[1]);
}

/* No descriptor above those that the process has, which are enough for ppoll(), whose count of
 * descriptors may not be above the limit either. */
static struct rlimit lower_fd_limit(int process)
{
    char entry[64];
    struct rlimit limit, lowered;
    rlim_t open_fds = 0;
    while (snprintf(entry, sizeof entry, "/proc/%d/fd/%d", process, (int)open_fds),
           faccessat(AT_FDCWD, entry, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        open_fds++;
    assert_int_equal(prlimit(process, RLIMIT_NOFILE, NULL, &limit), 0);
    lowered = (struct rlimit){.rlim_cur = open_fds, .rlim_max = limit.rlim_max};
    assert_int_equal(prlimit(process, RLIMIT_NOFILE, &lowered, NULL), 0);
    return limit;
}

/* An answer that comes late may be that nothing more can be held. */
static void test_a_slow_keeper_refuses(void **state)
{
    (void)state;
    int pair[2];
    struct kept *kept[20];
    size_t last = sizeof kept / sizeof *kept - 1;
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    for (size_t i = 0; i < last; i++)
        assert_non_null(kept[i] = keeper_put(keeper, pair[0], NULL, 0, 0));
    assert_int_equal(kill(process, SIGSTOP), 0);
    log_set_level("error");
    assert_non_null(kept[last] = keeper_put(keeper, pair[0], NULL, 0, 0));
    struct rlimit limit = lower_fd_limit(process);
    hear_again(keeper, process);
    log_set_level("warn");
    assert_true(kept_is_refused(kept[last]));
    assert_true(keeper_take_missed(keeper));
    assert_false(keeper_take_missed(keeper));
    kept_drop(&kept[last]);
    assert_int_equal(prlimit(process, RLIMIT_NOFILE, &limit, NULL), 0);
    assert_non_null(kept[last] = keeper_put(keeper, pair[0], NULL, 0, 0));
    assert_false(kept_is_refused(kept[last]));
    for (size_t i = 0; i <= last; i++)
        kept_drop(&kept[i]);
    assert_int_equal(keeper_leave(&keeper), 0);
    close(pair[0]);
    close(pair[1]);
}

/* A connection that the socket to the keeper does not take is put again when it does. */
static void test_a_stopped_keepers_socket_is_full(void **state)
{
    (void)state;
    enum { MOST = 20000 };
    int pair[2];
    tcp_pair(pair);
    struct keeper *keeper = start();
    int process = keeper_pid(keeper);
    struct kept **kept = calloc(MOST, sizeof(struct kept *));
    size_t count = 0;
    assert_int_equal(kill(process, SIGSTOP), 0);
    log_set_level("error");
    while (count < MOST && (kept[count] = keeper_put(keeper, pair[0], NULL, 0, 0)))
        count++;
    log_set_level("warn");
    assert_in_range(count, 1, MOST - 1);
    assert_true(keeper_take_missed(keeper));
    hear_again(keeper, process);
    while (!(kept[count] = keeper_put(keeper, pair[0], NULL, 0, 0)))
        assert_true(keeper_take_missed(keeper));
    for (size_t i = 0; i <= count; i++)
        kept_drop(&kept[i]);
    free(kept);
    assert_int_equal(keeper_leave(&keeper), 0);
    wait_end(process);
    close(pair[0]);
    assert_true(closes(pair[1]));
    close(pair[1]);
}

/* The child ends some time after the relay, which tells it by the end of a pipe. */
static void leave_a_child(struct keeper *keeper)
{
    int gate[2];
    char byte;
    (void)keeper;
    if (pipe2(gate, O_CLOEXEC) != 0)
        _exit(3);
    if (fork() != 0) {
        close(gate[0]);
        return;
    }
    close(gate[1]);
    if (read(gate[0], &byte, 1) == 0)
        poll(NULL, 0, LATE_MS);
    _exit(0);
}

/* A relay was killed, and its connection to the keeper is still open: as long as the relay has not
 * got the CPU to die, or, here, as another process has the connection. */
static void test_a_dead_relays_connection_closes_late(void **state)
{
    (void)state;
    pid_t process;
    pid_t relay = fork_relay(leave_a_child, &process);
    int64_t before = loop_now_us();
    kill_relay(relay);
    struct keeper *keeper = start();
    assert_true(loop_now_us() - before >= LATE_MS * 1000);
    assert_int_equal(keeper_leave(&keeper), 0);
}

static int door[2]; /* the child below ends when the test closes its end */

static void leave_a_child_at_the_door(struct keeper *keeper)
{
    char byte;
    (void)keeper;
    if (fork() != 0)
        return;
    close(door[1]);
    (void)!read(door[0], &byte, 1);
    _exit(0);
}

/* Stops the keeper when the relay has asked it for LATE_MS, ends the child, and lets the keeper
 * run, which then sees at once that its relay has gone and that another one asks. */
static void end_the_keeper_while_it_is_asked(pid_t process)
{
    close(door[0]);
    settle_us(LATE_MS * 1000);
    kill(process, SIGSTOP);
    settle_us(100000); /* the relay asks again */
    close(door[1]);
    settle_us(100000); /* the child ends */
    kill(process, SIGCONT);
    _exit(0);
}

/* A keeper that ends without an answer is followed by another, however long the relay has asked. */
static void test_a_keeper_ends_while_it_is_asked(void **state)
{
    (void)state;
    pid_t process;
    assert_int_equal(pipe2(door, O_CLOEXEC), 0);
    pid_t relay = fork_relay(leave_a_child_at_the_door, &process);
    kill_relay(relay);
    if (fork_helper() == 0)
        end_the_keeper_while_it_is_asked(process);
    close(door[0]);
    close(door[1]);
    struct keeper *keeper = start();
    assert_int_not_equal(keeper_pid(keeper), process);
    assert_int_equal(keeper_leave(&keeper), 0);
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_relay_dies_before_its_keeper_has_answered),
        TEST(test_a_relay_dies_while_its_keeper_is_asked),
        TEST(test_a_stopped_keeper_does_not_stop_the_relay),
        TEST(test_a_slow_keeper_refuses),
        TEST(test_a_stopped_keepers_socket_is_full),
        TEST(test_a_dead_relays_connection_closes_late),
        TEST(test_a_keeper_ends_while_it_is_asked),
    };
    return cmocka_run_group_tests_name("slow keeper", tests, NULL, NULL);
}
