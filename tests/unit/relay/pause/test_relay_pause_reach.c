/* Which pauses have a debugger that can be reached from here, and which may soon have one. */
#include "cmocka_prelude.h"

#include "base/wall_clock.h"
#include "relay/pause/pause_reach.h"

#include <arpa/inet.h>
#include <unistd.h>

/* A port without a listener, which no other process gets before the test has closed *fd. */
static uint16_t port_bound(int *fd)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&at, size), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

static struct pause pause_at(uint16_t port)
{
    return (struct pause){.debugger = PAUSE_PDB,
                          .state = PAUSE_WAITING,
                          .host = "127.0.0.1",
                          .port = port,
                          .since_ms = wall_clock_ms()};
}

static void a_pdb_is_early_until_it_listens(void **state)
{
    struct err err;
    int fd;
    (void)state;
    struct pause pause = pause_at(port_bound(&fd));
    assert_int_equal(pause_reach_check(&pause, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_true(pause_reach_is_early(&pause));
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(pause_reach_check(&pause, &err), 0);
    close(fd);
}

static void an_old_one_and_one_of_another_node_are_not_early(void **state)
{
    struct err err;
    int fd;
    (void)state;
    struct pause pause = pause_at(port_bound(&fd));
    pause.since_ms -= 11000;
    assert_false(pause_reach_is_early(&pause));
    pause.since_ms = 0;
    assert_false(pause_reach_is_early(&pause));
    pause = pause_at(pause.port);
    pause.node_ip = "192.0.2.1";
    assert_int_equal(pause_reach_check(&pause, &err), -1);
    assert_false(pause_reach_is_early(&pause));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pdb_is_early_until_it_listens),
        cmocka_unit_test(an_old_one_and_one_of_another_node_are_not_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
