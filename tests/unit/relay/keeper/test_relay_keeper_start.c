/* Which relay a keeper serves, and which keeper a relay finds. */
#include "cmocka_prelude.h"

#include "keeper_fixture.h"
#include "relay/io/loop.h"
#include "relay/keeper/keeper.h"
#include "relay/keeper/keeper_process.h"
#include "relay/keeper/keeper_wire.h"

#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

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
    assert_true(is_running(relay));
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
    settle_us(100000);
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
    assert_in_range((loop_now_us() - before) / 1000, 9000, 60000);
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
    keeper_put(keeper, pair[0], NULL, 0, 0);
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
    assert_true(closes(fd));
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
        _exit(closes(fd) ? 0 : 3);
    }
    int status;
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
    kill_relay(relay);
    assert_int_equal(chmod(directory, 0700), 0);
}

int main(int argc, char **argv)
{
    keeper_process_resume(argc, argv);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_second_relay_is_refused),
        TEST(test_an_upgrade_waits_for_the_relay_to_end),
        TEST(test_an_upgrade_of_a_deaf_relay_gives_up),
        TEST(test_relays_that_start_at_once),
        TEST(test_a_relay_of_another_version_is_refused),
        TEST(test_a_keeper_of_another_version_is_left_alone),
        TEST(test_who_may_connect),
    };
    return cmocka_run_group_tests_name("keeper_start", tests, NULL, NULL);
}
