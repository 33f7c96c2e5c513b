/* Connections that come while there are no descriptors. */
#include "cmocka_prelude.h"
#include "descriptors.h"
#include "tcp_peer.h"

#include "base/text.h"
#include "relay/io/acceptor.h"

#include <fcntl.h>

enum { PAUSE_MS = 1000, LIMIT_MS = 60000 };

static void on_connection(void *arg, int fd)
{
    bool *accepted = arg;
    *accepted = true;
    close(fd);
}

static void turns(struct loop *loop)
{
    for (int i = 0; i < 5; i++)
        loop_run_once(loop, 1);
}

/* Something else takes what the pause has set free: the watch of the socket cannot begin. */
static void a_port_accepts_again(void **state)
{
    (void)state;
    static const char *const addresses[] = {"127.0.0.1:0", "127.0.0.1:0"};
    struct descriptors taken;
    struct err err;
    uint16_t port;
    char host[64];
    bool accepted = false;
    struct loop *loop = loop_create(false, &err);
    struct acceptor *acceptor = acceptor_open(loop, addresses, 2, on_connection, &accepted, &err);
    assert_non_null(acceptor);
    assert_true(text_split_host_port(acceptor_address(acceptor, 1), host, sizeof host, &port));
    int client = tcp_peer_connect(port);
    descriptors_take_all(&taken);
    for (int stopped = 0; stopped < 2; loop_run_once(loop, 1)) /* the watches of both */
        stopped += descriptors_take_one(&taken);
    assert_false(accepted);
    loop_skip(loop, PAUSE_MS);
    descriptors_give_one(&taken);
    loop_skip(loop, PAUSE_MS); /* one of the two has its watch, the other one the connection */
    turns(loop);
    descriptors_give_all(&taken);
    loop_skip(loop, PAUSE_MS);
    loop_run_until(loop, &accepted, LIMIT_MS);
    assert_true(accepted);
    close(client);
    acceptor_close(&acceptor);
    loop_destroy(&loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_accepts_again),
    };
    return cmocka_run_group_tests_name("acceptor", tests, NULL, NULL);
}
