/* The descriptors of a detached process, also on a Linux without close_range(). */
#include "cmocka_prelude.h"

#include "relay/io/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HIGHEST = 900 };

/* In the daemon: says which descriptor is the first that is open and should not be, or 0. */
static void tell_open(const char *path)
{
    (void)path;
    int open_fd = 0;
    for (int fd = DAEMON_FIRST_FREE_FD; fd <= HIGHEST && !open_fd; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            open_fd = fd;
    if (fcntl(DAEMON_MEMORY_FD, F_GETFD) < 0)
        open_fd = DAEMON_MEMORY_FD;
    if (write(DAEMON_SOCKET_FD, &open_fd, sizeof open_fd) < 0)
        _exit(1);
}

/* close_range() fails from here on as on an older Linux. */
static bool forget_close_range(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
           syscall(SYS_close_range, ~0U, ~0U, 0) < 0 && errno == ENOSYS;
}

/* The process that starts the daemon: its descriptors are far apart. */
_Noreturn static void start(int socket, bool old_linux)
{
    int memory = memfd_create("raydbg-test", 0);
    for (int fd = 20; fd <= HIGHEST; fd += 40)
        dup2(memory, fd);
    _exit(!((!old_linux || forget_close_range()) && dup2(memory, HIGHEST) == HIGHEST &&
            daemon_start("raydbg-test", socket, memory, "/tmp", tell_open) == 0));
}

static void check(bool old_linux)
{
    int pair[2], open_fd = -1, status = -1;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid_t child = fork();
    if (child == 0)
        start(pair[1], old_linux);
    close(pair[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(pair[0], &open_fd, sizeof open_fd), sizeof open_fd);
    assert_int_equal(open_fd, 0);
    close(pair[0]);
}

static void test_closes_the_others(void **state)
{
    (void)state;
    check(false);
}

static void test_closes_them_without_close_range(void **state)
{
    (void)state;
    check(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_closes_the_others),
        cmocka_unit_test(test_closes_them_without_close_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
