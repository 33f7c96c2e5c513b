/* The relay's port while there are no descriptors, and after that. */
#include "descriptors.h"
#include "listener_fixture.h"

enum { PAUSE_MS = 1000 };

/* A socket that is there before all descriptors are taken. */
static int socket_early(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

static void dial_by(int fd, const struct server *server)
{
    const char *address = listener_address(server->listener, 0);
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof in), 0);
}

/* Something else takes what the pause has set free: the watch of the port cannot begin. */
static void a_port_accepts_again(void **state)
{
    (void)state;
    struct descriptors taken;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = socket_early();
    server_turns(server);
    descriptors_take_all(&taken);
    dial_by(fd, server);
    WAIT_UNTIL(descriptors_take_one(&taken));
    server_skip(server, PAUSE_MS);
    server_turns(server);
    descriptors_give_all(&taken);
    server_skip(server, PAUSE_MS);
    put_text(fd, DAP("hello", "5"));
    expect(fd, DAP("hello", "5"));
    close(fd);
    wait_for(&server->closed, 1);
    server_stop(server);
}

/* The connection takes the last descriptor: there is none to wait for its first bytes by. */
static void the_last_descriptor_is_a_connections(void **state)
{
    (void)state;
    struct descriptors taken;
    struct server *server = server_start((struct listener_options){0}, NULL, true);
    int fd = socket_early();
    server_turns(server);
    descriptors_take_all(&taken);
    descriptors_give_one(&taken);
    dial_by(fd, server);
    wait_connections(server, 1);
    put_text(fd, DAP("hello", "5"));
    expect(fd, DAP("hello", "5"));
    descriptors_give_all(&taken);
    close(fd);
    wait_for(&server->closed, 1);
    server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_accepts_again),
        cmocka_unit_test(the_last_descriptor_is_a_connections),
    };
    return cmocka_run_group_tests_name("port descriptors", tests, NULL, NULL);
}
