/* The tunnel: what it costs, what it tunes, and to which addresses it leads. */
#include "cmocka_prelude.h"
#include "tunnel_fixture.h"

/* --- memory --- */

struct flood {
    pthread_t thread;
    int fd;
    size_t left;
};

static void *write_flood(void *arg)
{
    struct flood *flood = arg;
    char block[65536];
    memset(block, 'x', sizeof block);
    while (flood->left && tcp_peer_write(flood->fd, block, sizeof block))
        flood->left -= sizeof block;
    shutdown(flood->fd, SHUT_WR);
    return NULL;
}

static void test_300_mb_to_a_stopped_reader(void **state)
{
    (void)state;
    struct fixture it;
    const size_t total = (size_t)300 * MIB;
    char *in = mem_alloc(MIB);
    memset(in, 1, MIB);
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    fcntl(pair.adapter, F_SETFL, 0);
    struct flood flood = {.fd = pair.adapter, .left = total};
    run(&it, 20);
    size_t before = tcp_peer_rss(), most = 0, got = 0;
    assert_int_equal(pthread_create(&flood.thread, NULL, write_flood, &flood), 0);
    int64_t read_from = loop_now_us() + 500000, until = read_from + 60000000;
    while (got < total && loop_now_us() < until) {
        loop_run_once(it.loop, 0);
        if (loop_now_us() > read_from) {
            ssize_t len = recv(pair.client, in, MIB, MSG_DONTWAIT);
            got += len > 0 ? (size_t)len : 0;
        }
        size_t now = tcp_peer_rss();
        most = now > most ? now : most;
    }
    pthread_join(flood.thread, NULL);
    assert_int_equal(got, total);
    assert_end(&it, pair.client);
    print_message("300 MB: RSS grew by %zu KiB\n", most > before ? (most - before) / 1024 : 0);
#ifndef __SANITIZE_ADDRESS__ /* which keeps what is freed */
    assert_true(most < before + (size_t)4 * MIB);
#endif
    free(in);
    close_pair(&pair);
    tear_down(&it);
}

static void test_idle_tunnels_are_small(void **state)
{
    (void)state;
    enum { TUNNELS = 200 };
    struct fixture it;
    struct pair pairs[TUNNELS + 1];
    set_up(&it, true);
    pairs[TUNNELS] = connect_pair(&it); /* what is allocated once */
    struct mallinfo2 before = mallinfo2();
    for (size_t i = 0; i < TUNNELS; i++)
        pairs[i] = connect_pair(&it);
    run(&it, 20);
    struct mallinfo2 after = mallinfo2();
    size_t each = (after.uordblks - before.uordblks) / TUNNELS;
    print_message("an idle tunnel: %zu bytes\n", each);
    assert_true(each < 6 * 1024);
    for (size_t i = 0; i <= TUNNELS; i++)
        close_pair(&pairs[i]);
    tear_down(&it);
}

/* --- tuning --- */

static void add(struct buf *out, const char *json)
{
    buf_printf(out, "Content-Length: %zu\r\n\r\n%s", strlen(json), json);
}

static char *read_some(struct fixture *it, int fd)
{
    char *got = mem_alloc(65536);
    size_t len = 0;
    int64_t until = loop_now_us() + 150000, turns = 0;
    for (; turns < 75 || loop_now_us() < until; turns++, turn(it)) {
        ssize_t now = recv(fd, got + len, 65535 - len, MSG_DONTWAIT);
        len += now > 0 ? (size_t)now : 0;
    }
    return got;
}

static void test_debugpy_is_tuned_unseen(void **state)
{
    (void)state;
    for (int tune = 0; tune < 2; tune++) {
        struct fixture it;
        struct buf said = {0}, answer = {0};
        set_up(&it, tune);
        struct pair pair = connect_pair(&it);
        add(&said, "{\"seq\":1,\"type\":\"event\",\"event\":\"output\",\"body\":{\"category\":"
                   "\"telemetry\",\"output\":\"ptvsd\"}}");
        add(&said, "{\"seq\":2,\"type\":\"event\",\"event\":\"initialized\"}");
        assert_true(tcp_peer_write(pair.adapter, said.data, said.len));
        char *got = read_some(&it, pair.client);
        assert_string_equal(got, said.data);
        free(got);
        got = read_some(&it, pair.adapter);
        assert_int_equal(strstr(got, "\"seq\":" OWN) != NULL, tune);
        assert_int_equal(strlen(got) > 0, tune);
        free(got);
        add(&answer, "{\"seq\":3,\"type\":\"response\",\"request_seq\":" OWN
                     ",\"success\":true,\"command\":\"evaluate\",\"body\":{\"result\":\"\"}}");
        size_t start = answer.len;
        add(&answer, "{\"seq\":4,\"type\":\"event\",\"event\":\"stopped\"}");
        assert_true(tcp_peer_write(pair.adapter, answer.data, answer.len));
        got = read_some(&it, pair.client);
        assert_string_equal(got, answer.data + (tune ? start : 0));
        free(got);
        struct way ways[2]; /* and nothing else from then on */
        way_init(&ways[0], pair.client, pair.adapter, 100000, 1);
        way_init(&ways[1], pair.adapter, pair.client, 100000, 2);
        pass(&it, ways, 2);
        buf_free(&said);
        buf_free(&answer);
        close_pair(&pair);
        tear_down(&it);
    }
}

/* --- addresses --- */

static void test_a_unix_socket(void **state)
{
    (void)state;
    struct fixture it;
    struct err err = {0};
    struct stat found;
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char address[200], got[16] = "";
    set_up(&it, true);
    snprintf(at.sun_path, sizeof at.sun_path, "/tmp/raydbg-test-%d", (int)getpid());
    snprintf(address, sizeof address, "unix:%s", at.sun_path);
    /* One that a dead process has left behind. */
    int stale = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(stale, (struct sockaddr *)&at, sizeof at), 0);
    close(stale);
    struct tunnels *tunnels = create(&it, address, true, 0, &err);
    assert_non_null(tunnels);
    assert_string_equal(tunnels_address(tunnels, 0), address);
    assert_int_equal(stat(at.sun_path, &found), 0);
    assert_int_equal(found.st_mode & 0777, 0600);
    assert_null(create(&it, address, true, 0, &err)); /* it is in use */
    assert_non_null(strstr(err.why, "in use"));
    struct pair pair = {.client = socket(AF_UNIX, SOCK_STREAM, 0)};
    assert_int_equal(connect(pair.client, (struct sockaddr *)&at, sizeof at), 0);
    pair.adapter = accept_one(&it);
    assert_true(tcp_peer_write(pair.adapter, "hello", 5));
    run(&it, 20);
    assert_int_equal(recv(pair.client, got, sizeof got, 0), 5);
    struct way way;
    way_init(&way, pair.client, pair.adapter, 500000, 9);
    way.shut = true;
    pass(&it, &way, 1);
    assert_end(&it, pair.adapter);
    close_pair(&pair);
    tunnels_destroy(&tunnels);
    assert_int_not_equal(stat(at.sun_path, &found), 0);
    tear_down(&it);
}

static void test_addresses_that_are_refused(void **state)
{
    (void)state;
    struct fixture it;
    char taken[64];
    set_up(&it, true);
    static const struct {
        const char *address, *says;
    } cases[] = {
        {"0.0.0.0:0", "only this machine"},
        {"127.0.0.1", "no address to listen on"},
        {"127.0.0.1:66000", "no address to listen on"},
        {"unix:", "1 to 107 bytes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        char line[1600];
        assert_null(create(&it, cases[i].address, true, 0, &err));
        err_line(&err, line, sizeof line);
        if (!strstr(line, cases[i].says))
            fail_msg("%s", line);
    }
    struct err err = {0};
    snprintf(taken, sizeof taken, "127.0.0.1:%u", (unsigned)it.port);
    assert_null(create(&it, taken, true, 0, &err));
    assert_non_null(strstr(err.why, "in use"));
    tear_down(&it);
}

static void test_connections_have_a_limit(void **state)
{
    (void)state;
    struct fixture it;
    struct err err = {0};
    char host[64];
    set_up(&it, true);
    tunnels_destroy(&it.tunnels);
    it.tunnels = create(&it, "[::1]:0", true, 2, &err);
    if (it.tunnels) /* not every machine has IPv6 */
        assert_true(text_starts(tunnels_address(it.tunnels, 0), "[::1]:"));
    tunnels_destroy(&it.tunnels);
    it.tunnels = create(&it, "127.0.0.1:0", true, 2, &err);
    assert_true(text_split_host_port(tunnels_address(it.tunnels, 0), host, sizeof host, &it.port));
    struct pair one = connect_pair(&it), two = connect_pair(&it);
    int third = tcp_peer_connect(it.port);
    assert_end(&it, third);
    close(third);
    close_pair(&one);
    run(&it, 30);
    one = connect_pair(&it);
    close_pair(&one);
    close_pair(&two);
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_300_mb_to_a_stopped_reader),
        cmocka_unit_test(test_idle_tunnels_are_small),
        cmocka_unit_test(test_debugpy_is_tuned_unseen),
        cmocka_unit_test(test_a_unix_socket),
        cmocka_unit_test(test_addresses_that_are_refused),
        cmocka_unit_test(test_connections_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
