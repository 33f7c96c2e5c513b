/* A link to Ray's pdb: the statement, the marker, and what becomes of a pdb that is no adapter. */
#include "cmocka_prelude.h"

#include "relay/debuggee/link.h"
#include "tcp_fixture.h"

enum { WAIT_MS = 60000, CONNECT_MS = 5000, TOKEN = 32 };

struct fixture {
    struct tcp_fixture at;
    struct link *link;
    char token[TOKEN + 1];
};

static void on_open(void *arg)
{
    struct fixture *it = arg;
    buf_add_string(&it->at.log, "open ");
}

static void on_event(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct fixture *it = arg;
    (void)json, (void)len;
    buf_printf(&it->at.log, "%s ", envelope->name);
}

static void on_close(void *arg, const char *why)
{
    struct fixture *it = arg;
    buf_printf(&it->at.log, "close(%s) ", why);
}

static const struct link_ops ops = {.on_open = on_open, .on_event = on_event, .on_close = on_close};

static void open_link(struct fixture *it)
{
    it->link = link_open_pdb(it->at.loop, "127.0.0.1", it->at.port, CONNECT_MS, &ops, it);
}

static void set_up(struct fixture *it)
{
    *it = (struct fixture){0};
    tcp_fixture_set_up(&it->at);
}

static void tear_down(struct fixture *it)
{
    link_destroy(&it->link);
    tcp_fixture_tear_down(&it->at);
}

/* Runs the loop until the peer has read something that ends so; the caller clears `out`. */
static void read_until(struct fixture *it, const char *end, struct buf *out)
{
    char bytes[65536];
    size_t len = strlen(end);
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (out->len < len || memcmp(out->data + out->len - len, end, len) != 0) {
        assert_true(loop_now_us() < until);
        loop_run_once(it->at.loop, 5);
        ssize_t got = tcp_peer_read(it->at.fd, bytes, sizeof bytes, 0);
        if (got > 0)
            buf_add(out, bytes, (size_t)got);
    }
}

/* Connects, says what pdb says, and takes the statement. */
static void meet(struct fixture *it)
{
    struct buf said = {0};
    struct pollfd ready = {.fd = it->at.listener, .events = POLLIN};
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    if (!it->link)
        open_link(it);
    while (poll(&ready, 1, 0) == 0 && loop_now_us() < until)
        loop_run_once(it->at.loop, 5);
    it->at.fd = accept(it->at.listener, NULL, NULL);
    assert_true(it->at.fd >= 0);
    tcp_peer_write(it->at.fd, "> a.py(1)f()\r\n(Pdb) ", 21);
    read_until(it, "\"})\n", &said);
    assert_memory_equal(said.data, "!exec(", 6);
    memcpy(it->token, said.data + said.len - 4 - TOKEN, TOKEN);
    buf_free(&said);
}

static void say(struct fixture *it, const char *text)
{
    assert_true(tcp_peer_write(it->at.fd, text, strlen(text)));
}

static void assert_log(struct fixture *it, const char *expected)
{
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (strcmp(it->at.log.data, expected) != 0 && loop_now_us() < until)
        loop_run_once(it->at.loop, 20);
    assert_string_equal(it->at.log.data, expected);
}

static void behind_the_marker_is_dap(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    meet(&it);
    char *text = mem_format("\002%s\003Content-Length: 40\r\n\r\n"
                            "{\"seq\":1,\"type\":\"event\",\"event\":\"hello\"}",
                            it.token);
    say(&it, text);
    free(text);
    assert_log(&it, "open hello ");
    tear_down(&it);
}

static void a_pdb_that_is_no_adapter_is_let_go(void **state)
{
    struct fixture it;
    struct buf said = {0};
    (void)state;
    set_up(&it);
    meet(&it);
    char *text = mem_format("\002%s!'too old'\003(Pdb) ", it.token);
    say(&it, text);
    free(text);
    assert_log(&it,
               "close(Ray's pdb did not become a debug adapter: 'too old'; the task goes on) ");
    read_until(&it, "c\n", &said);
    assert_string_equal(said.data, "c\n");
    buf_free(&said);
    tear_down(&it);
}

static void who_gives_up_lets_pdb_go(void **state)
{
    struct fixture it;
    struct buf said = {0};
    (void)state;
    set_up(&it);
    meet(&it);
    link_destroy(&it.link);
    read_until(&it, "c\n", &said);
    assert_string_equal(said.data, "c\n");
    buf_free(&said);
    tear_down(&it);
}

static void a_refused_port_is_tried_again(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    close(it.at.listener);
    open_link(&it);
    for (int64_t until = loop_now_us() + 200000; loop_now_us() < until;)
        loop_run_once(it.at.loop, 20);
    assert_string_equal(it.at.log.data, "");
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(it.at.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    it.at.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(it.at.listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    assert_int_equal(bind(it.at.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(it.at.listener, 1), 0);
    meet(&it); /* the same link */
    tear_down(&it);
}

static void a_port_that_stays_closed_is_an_error(void **state)
{
    struct fixture it;
    (void)state;
    set_up(&it);
    close(it.at.listener);
    it.at.listener = -1;
    open_link(&it);
    assert_log(&it, "close(Connection refused) ");
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(behind_the_marker_is_dap),
        cmocka_unit_test(a_pdb_that_is_no_adapter_is_let_go),
        cmocka_unit_test(who_gives_up_lets_pdb_go),
        cmocka_unit_test(a_refused_port_is_tried_again),
        cmocka_unit_test(a_port_that_stays_closed_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
