/* Which pauses have a debugger that can be reached from here, and which may soon have one. */
#include "cmocka_prelude.h"

#include "base/wall_clock.h"
#include "relay/pause/pause_reach.h"

#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

/* A port of this machine's: bound, and listened to if `listens`. The caller closes *fd. */
static uint16_t port_of(bool listens, int *fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*fd >= 0);
    assert_int_equal(bind(*fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(*fd, (struct sockaddr *)&address, &size), 0);
    assert_true(!listens || listen(*fd, 1) == 0);
    return ntohs(address.sin_port);
}

static struct pause pause_at(uint16_t port)
{
    return (struct pause){.debugger = PAUSE_PDB,
                          .state = PAUSE_WAITING,
                          .host = "127.0.0.1",
                          .port = port,
                          .since_ms = wall_clock_ms()};
}

static void a_pdb_that_listens_is_reached(void **state)
{
    struct err err;
    int fd;
    (void)state;
    struct pause pause = pause_at(port_of(true, &fd));
    assert_int_equal(pause_reach_check(&pause, &err), 0);
    close(fd);
}

static void a_pdb_that_does_not_listen_yet_may_come(void **state)
{
    struct err err;
    int fd;
    (void)state;
    struct pause pause = pause_at(port_of(false, &fd));
    assert_int_equal(pause_reach_check(&pause, &err), -1);
    assert_int_equal(err.code, ERR_UNREACHABLE);
    assert_true(pause_reach_may_come(&pause));
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(pause_reach_check(&pause, &err), 0);
    close(fd);
}

static void an_old_one_and_one_of_another_node_do_not_come(void **state)
{
    struct err err;
    int fd;
    (void)state;
    struct pause pause = pause_at(port_of(false, &fd));
    pause.since_ms -= 11000;
    assert_false(pause_reach_may_come(&pause));
    pause.since_ms = 0;
    assert_false(pause_reach_may_come(&pause));
    pause = pause_at(pause.port);
    pause.node_ip = "192.0.2.1";
    assert_int_equal(pause_reach_check(&pause, &err), -1);
    assert_false(pause_reach_may_come(&pause));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pdb_that_listens_is_reached),
        cmocka_unit_test(a_pdb_that_does_not_listen_yet_may_come),
        cmocka_unit_test(an_old_one_and_one_of_another_node_do_not_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
