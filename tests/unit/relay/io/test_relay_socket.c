/* What the kernel tells of a connection. */
#include "cmocka_prelude.h"
#include "waits.h"

#include "relay/io/socket.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int ends[2];
static const struct tcp_info *told; /* in place of the kernel's, or NULL */

/* In place of the C library's, whose parameters have reserved names. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    if (!told || level != IPPROTO_TCP || name != TCP_INFO)
        return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
    *len = *len < sizeof *told ? *len : sizeof *told;
    memcpy(value, told, *len);
    return 0;
}

static int connect_both(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(door, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(door, 1), 0);
    assert_int_equal(getsockname(door, (struct sockaddr *)&at, &size), 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(ends[0], (struct sockaddr *)&at, size), 0);
    ends[1] = accept4(door, NULL, NULL, SOCK_CLOEXEC);
    assert_true(ends[1] >= 0);
    close(door);
    return 0;
}

static int close_both(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static void who_was_just_heard_is_not_silent_for_long(void **state)
{
    (void)state;
    assert_int_equal(write(ends[1], "x", 1), 1);
    assert_false(socket_is_silent(ends[0]));
    int64_t left_ms = socket_silent_in_ms(ends[0]);
    /* Below 20 s, or a cut would be seen late; far above a second, or all are asked each second. */
    assert_in_range(left_ms, 2000, 20000);
}

/* Nothing has come for long: either of the kernel's own attempts tells that something should have;
 * a connection on which nothing is sent may be quiet for ever. */
static void only_who_does_not_answer_is_silent(void **state)
{
    (void)state;
    static const struct {
        struct tcp_info info;
        int64_t in_ms;
    } rows[] = {
        {{.tcpi_last_ack_recv = 60000, .tcpi_last_data_recv = 60000}, 1},
        {{.tcpi_last_ack_recv = 60000, .tcpi_last_data_recv = 60000, .tcpi_probes = 1}, 0},
        {{.tcpi_last_ack_recv = 60000, .tcpi_last_data_recv = 60000, .tcpi_retransmits = 1}, 0},
        {{.tcpi_last_ack_recv = 60000,
          .tcpi_last_data_recv = 60000,
          .tcpi_probes = 1,
          .tcpi_retransmits = 1},
         0},
        {{.tcpi_last_ack_recv = 20000, .tcpi_last_data_recv = 60000, .tcpi_probes = 1}, 0},
        {{.tcpi_last_ack_recv = 19999, .tcpi_last_data_recv = 60000, .tcpi_probes = 1}, 1},
        {{.tcpi_last_ack_recv = 60000, .tcpi_last_data_recv = 15000, .tcpi_probes = 1}, 5000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        told = &rows[i].info;
        int64_t in_ms = socket_silent_in_ms(-1);
        bool silent = socket_is_silent(-1);
        told = NULL;
        assert_int_equal(in_ms, rows[i].in_ms);
        assert_int_equal(silent, rows[i].in_ms == 0);
    }
}

static void what_is_no_connection_is_not_silent(void **state)
{
    (void)state;
    int files[2];
    assert_int_equal(pipe(files), 0);
    assert_false(socket_is_silent(files[0]));
    assert_false(socket_is_silent(-1));
    assert_in_range(socket_silent_in_ms(-1), 1, 1000);
    close(files[0]);
    close(files[1]);
}

/* One call sends both, whichever way their length takes. */
static void check_both(size_t head_len, size_t body_len)
{
    static char sent[8192], got[8192];
    size_t total = 0;
    for (size_t i = 0; i < sizeof sent; i++)
        sent[i] = (char)('a' + i % 23);
    ssize_t taken = socket_send(ends[0], sent, head_len, sent + head_len, body_len);
    assert_int_equal(taken, head_len + body_len);
    while (total < head_len + body_len) {
        ssize_t len = read(ends[1], got + total, sizeof got - total);
        assert_true(len > 0);
        total += (size_t)len;
    }
    assert_int_equal(total, head_len + body_len);
    assert_memory_equal(got, sent, total);
}

static void two_runs_leave_as_one(void **state)
{
    (void)state;
    static const size_t lengths[][2] = {{20, 5},   {0, 1},    {20, 2028}, {20, 2029},
                                        {2048, 0}, {2049, 0}, {2049, 10}, {10, 6000}};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_both(lengths[i][0], lengths[i][1]);
}

static void a_peer_that_is_gone_is_an_error(void **state)
{
    (void)state;
    close(ends[1]);
    WAIT_UNTIL(socket_send(ends[0], "head", 4, "body", 4) <= 0);
    ends[1] = -1;
}

static void the_hosts_own_addresses_are_known(void **state)
{
    (void)state;
    assert_true(socket_is_address_here("127.0.0.1"));
    assert_true(socket_is_address_here("127.9.8.7"));
    assert_false(socket_is_address_here("203.0.113.7")); /* TEST-NET-3 */
    assert_false(socket_is_address_here("2001:db8::7")); /* of documentation */
    assert_false(socket_is_address_here("localhost"));
    assert_false(socket_is_address_here(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(who_was_just_heard_is_not_silent_for_long, connect_both,
                                        close_both),
        cmocka_unit_test(only_who_does_not_answer_is_silent),
        cmocka_unit_test(what_is_no_connection_is_not_silent),
        cmocka_unit_test_setup_teardown(two_runs_leave_as_one, connect_both, close_both),
        cmocka_unit_test(the_hosts_own_addresses_are_known),
        cmocka_unit_test_setup_teardown(a_peer_that_is_gone_is_an_error, connect_both, close_both),
    };
    return cmocka_run_group_tests_name("socket", tests, NULL, NULL);
}
