/* The tunnel, with real sockets on both sides: what goes in comes out, in order and to its end. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/text.h"
#include "relay/tunnel.h"
#include "tcp_peer.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <malloc.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { WAIT_MS = 10000, MIB = 1024 * 1024 };

#define OWN "9007199254740991"

struct fixture {
    struct loop *loop;
    struct tunnels *tunnels;
    int listener; /* the adapter's */
    unsigned short adapter_port, port;
    bool ended;
};

static void on_end(void *arg)
{
    struct fixture *it = arg;
    it->ended = true;
}

static struct tunnels *create(struct fixture *it, const char *address, bool tune, size_t max,
                              struct err *err)
{
    const char *const addresses[] = {address};
    struct tunnels_options options = {
        .loop = it->loop,
        .addresses = addresses,
        .address_count = 1,
        .host = "127.0.0.1",
        .port = it->adapter_port,
        .tune = tune,
        .max_connections = max,
    };
    return tunnels_create(&options, on_end, it, err);
}

static void set_up(struct fixture *it, bool tune)
{
    char host[64];
    struct err err = {0};
    *it = (struct fixture){0};
    it->loop = loop_create(false, NULL);
    it->listener = tcp_peer_listen(&it->adapter_port);
    fcntl(it->listener, F_SETFL, O_NONBLOCK);
    it->tunnels = create(it, "127.0.0.1:0", tune, 0, &err);
    if (!it->tunnels)
        fail_msg("%s: %s", err.what, err.why);
    assert_true(
        text_split_host_port(tunnels_address(it->tunnels, 0), host, sizeof host, &it->port));
    assert_string_equal(host, "127.0.0.1");
    assert_null(tunnels_address(it->tunnels, 1));
}

static void tear_down(struct fixture *it)
{
    tunnels_destroy(&it->tunnels);
    loop_run_once(it->loop, 0);
    loop_destroy(&it->loop);
    if (it->listener >= 0)
        close(it->listener);
}

static void turn(struct fixture *it)
{
    loop_run_once(it->loop, 2);
}

static void run(struct fixture *it, int64_t ms)
{
    for (int64_t until = loop_now_us() + ms * 1000; loop_now_us() < until;)
        turn(it);
}

/* A client, and its connection at the adapter's; both do not block. */
struct pair {
    int client, adapter;
};

static int accept_one(struct fixture *it)
{
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(it)) {
        int fd = accept4(it->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            return fd;
    }
    fail_msg("nobody dialed the adapter");
    return -1;
}

static struct pair connect_pair(struct fixture *it)
{
    struct pair pair = {.client = tcp_peer_connect(it->port)};
    fcntl(pair.client, F_SETFL, O_NONBLOCK);
    pair.adapter = accept_one(it);
    return pair;
}

static void close_pair(struct pair *pair)
{
    close(pair->client);
    close(pair->adapter);
}

/* Bytes on their way from one socket to the other. */
struct way {
    int from, to;
    char *bytes;
    size_t len, sent, got;
    unsigned seed;
    bool shut;  /* send no more behind them */
    bool ended; /* the reader has seen the end */
};

static void way_init(struct way *way, int from, int to, size_t len, unsigned seed)
{
    *way = (struct way){.from = from, .to = to, .len = len, .seed = seed};
    way->bytes = mem_alloc(len + 1);
    for (size_t i = 0; i < len; i++)
        way->bytes[i] = (char)rand_r(&seed);
}

static void way_step(struct way *way)
{
    char in[50000];
    size_t most = (size_t)rand_r(&way->seed) % 70000 + 1, left = way->len - way->sent;
    ssize_t len = send(way->from, way->bytes + way->sent, left < most ? left : most,
                       MSG_NOSIGNAL | MSG_DONTWAIT);
    way->sent += len > 0 ? (size_t)len : 0;
    if (way->sent == way->len && way->shut) {
        shutdown(way->from, SHUT_WR);
        way->shut = false;
    }
    len = recv(way->to, in, (size_t)rand_r(&way->seed) % sizeof in + 1, MSG_DONTWAIT);
    if (len > 0) {
        assert_true(way->got + (size_t)len <= way->len);
        assert_memory_equal(in, way->bytes + way->got, (size_t)len);
        way->got += (size_t)len;
    }
    way->ended = way->ended || len == 0;
}

static bool way_done(const struct way *way)
{
    return way->got == way->len;
}

static void pass(struct fixture *it, struct way *ways, size_t count)
{
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    for (bool done = false; !done && loop_now_us() < until;) {
        done = true;
        for (size_t i = 0; i < count; i++) {
            way_step(&ways[i]);
            done = done && way_done(&ways[i]);
        }
        loop_run_once(it->loop, 0);
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(ways[i].got, ways[i].len);
        free(ways[i].bytes);
        ways[i].bytes = NULL;
    }
}

static void assert_end(struct fixture *it, int fd)
{
    char byte;
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(it))
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
            return;
    fail_msg("the end did not come");
}

/* --- bytes --- */

static void test_both_ways_at_once(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    struct way ways[2];
    way_init(&ways[0], pair.client, pair.adapter, 3000000, 1);
    way_init(&ways[1], pair.adapter, pair.client, 3000000, 2);
    pass(&it, ways, 2);
    close_pair(&pair);
    tear_down(&it);
}

static void test_an_adapter_that_talks_first(void **state)
{
    (void)state;
    struct fixture it;
    char got[64] = "";
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    assert_true(tcp_peer_write(pair.adapter, "login: ", 7));
    run(&it, 30);
    assert_int_equal(recv(pair.client, got, sizeof got, 0), 7);
    assert_string_equal(got, "login: ");
    close_pair(&pair);
    tear_down(&it);
}

/* What a client sends before the adapter is there waits for it. */
static void test_a_client_that_talks_first(void **state)
{
    (void)state;
    struct fixture it;
    char got[64] = "";
    set_up(&it, false);
    int client = tcp_peer_connect(it.port);
    assert_true(tcp_peer_write(client, "hello", 5));
    shutdown(client, SHUT_WR);
    int adapter = accept_one(&it);
    run(&it, 30);
    assert_int_equal(recv(adapter, got, sizeof got, 0), 5);
    assert_string_equal(got, "hello");
    assert_int_equal(recv(adapter, got, sizeof got, 0), 0);
    close(client);
    close(adapter);
    tear_down(&it);
}

static void test_many_at_once_and_in_turn(void **state)
{
    (void)state;
    enum { PAIRS = 20, ROUNDS = 3 };
    struct fixture it;
    set_up(&it, true);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct pair pairs[PAIRS];
        struct way ways[PAIRS * 2];
        for (unsigned i = 0; i < PAIRS; i++) {
            pairs[i] = connect_pair(&it);
            way_init(&ways[2 * i], pairs[i].client, pairs[i].adapter, 30000 + i, i + 1);
            way_init(&ways[2 * i + 1], pairs[i].adapter, pairs[i].client, 40000 + i, i + 100);
        }
        pass(&it, ways, (size_t)PAIRS * 2);
        for (unsigned i = 0; i < PAIRS; i++)
            close_pair(&pairs[i]);
    }
    tear_down(&it);
}

static void wait_bytes(struct fixture *it, int fd, size_t count)
{
    char bytes[8];
    int64_t until = loop_now_us() + (int64_t)WAIT_MS * 1000;
    while (count && loop_now_us() < until) {
        loop_run_once(it->loop, 0);
        ssize_t len = recv(fd, bytes, count, MSG_DONTWAIT);
        count -= len > 0 ? (size_t)len : 0;
    }
    assert_int_equal(count, 0);
}

static void test_bytes_leave_at_once(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, false);
    struct pair pair = connect_pair(&it);
    int on = 1;
    setsockopt(pair.client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(pair.adapter, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    int64_t start = loop_now_us();
    /* Two sends to an answer: Nagle's algorithm would hold the second for 40 ms each time. */
    for (int i = 0; i < 100; i++) {
        assert_true(tcp_peer_write(pair.client, "a", 1));
        turn(&it);
        assert_true(tcp_peer_write(pair.client, "b", 1));
        wait_bytes(&it, pair.adapter, 2);
        assert_true(tcp_peer_write(pair.adapter, "c", 1));
        turn(&it);
        assert_true(tcp_peer_write(pair.adapter, "d", 1));
        wait_bytes(&it, pair.client, 2);
    }
    assert_true(loop_now_us() - start < 2500000);
    close_pair(&pair);
    tear_down(&it);
}

/* --- ends --- */

static void test_each_side_sees_the_others_end(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    close(pair.adapter);
    assert_end(&it, pair.client);
    close(pair.client);
    pair = connect_pair(&it);
    close(pair.client);
    assert_end(&it, pair.adapter);
    close(pair.adapter);
    run(&it, 20);
    assert_false(it.ended);
    tear_down(&it);
}

/* A client that has said all it wants, and an answer that it reads slowly. */
static void test_half_closed_is_not_closed(void **state)
{
    (void)state;
    for (unsigned slow = 0; slow < 2; slow++) {
        struct fixture it;
        struct way question, answer;
        set_up(&it, true);
        struct pair pair = connect_pair(&it);
        way_init(&question, pair.client, pair.adapter, 100000, 3);
        question.shut = true;
        pass(&it, &question, 1);
        assert_end(&it, pair.adapter);
        way_init(&answer, pair.adapter, pair.client, 9000000, 4);
        answer.shut = true;
        while (slow && answer.sent < answer.len) {
            ssize_t len = send(pair.adapter, answer.bytes + answer.sent, answer.len - answer.sent,
                               MSG_DONTWAIT | MSG_NOSIGNAL);
            if (len <= 0)
                break;
            answer.sent += (size_t)len;
            run(&it, 5);
        }
        pass(&it, &answer, 1);
        if (!answer.ended)
            assert_end(&it, pair.client);
        close_pair(&pair);
        tear_down(&it);
    }
}

/* The last bytes of an adapter that goes while the client does not read. */
static void test_a_reset_takes_nothing_that_had_come(void **state)
{
    (void)state;
    struct fixture it;
    struct way way;
    size_t last = 0;
    set_up(&it, false);
    struct pair pair = connect_pair(&it);
    way_init(&way, pair.adapter, pair.client, 40 * (size_t)MIB, 5);
    for (int quiet = 0; quiet < 20;) { /* until everything is full */
        ssize_t len = send(pair.adapter, way.bytes + way.sent, way.len - way.sent,
                           MSG_DONTWAIT | MSG_NOSIGNAL);
        way.sent += len > 0 ? (size_t)len : 0;
        run(&it, 5);
        quiet = way.sent == last ? quiet + 1 : 0;
        last = way.sent;
    }
    assert_true(way.sent < way.len);
    int unsent = 0;
    assert_int_equal(ioctl(pair.adapter, SIOCOUTQ, &unsent), 0);
    size_t arrived = way.sent - (size_t)unsent;
    tcp_peer_reset(pair.adapter);
    run(&it, 50);
    way.sent = way.len = arrived; /* what was acknowledged before */
    pass(&it, &way, 1);
    if (!way.ended)
        assert_end(&it, pair.client);
    close(pair.client);
    tear_down(&it);
}

static void test_a_client_that_vanishes(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    tcp_peer_reset(pair.client);
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; loop_now_us() < until; turn(&it)) {
        char byte;
        if (recv(pair.adapter, &byte, 1, 0) == 0 || errno == ECONNRESET)
            break;
    }
    close(pair.adapter);
    /* and one that does not wait for the adapter */
    int client = tcp_peer_connect(it.port);
    tcp_peer_reset(client);
    close(accept_one(&it));
    run(&it, 20);
    pair = connect_pair(&it);
    close_pair(&pair);
    tear_down(&it);
}

static void test_an_adapter_that_refuses(void **state)
{
    (void)state;
    struct fixture it;
    set_up(&it, true);
    close(it.listener);
    int client = tcp_peer_connect(it.port);
    assert_end(&it, client);
    close(client);
    run(&it, 20);
    assert_false(it.ended); /* it may be about to start */
    tear_down(&it);

    set_up(&it, true);
    struct pair pair = connect_pair(&it);
    close(it.listener);
    it.listener = -1;
    client = tcp_peer_connect(it.port);
    assert_end(&it, client);
    close(client);
    run(&it, 20);
    assert_false(it.ended); /* somebody still uses it */
    close_pair(&pair);
    for (int64_t until = loop_now_us() + WAIT_MS * 1000; !it.ended && loop_now_us() < until;)
        turn(&it);
    assert_true(it.ended);
    tear_down(&it);
}

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
    for (int64_t until = loop_now_us() + 150000; loop_now_us() < until; turn(it)) {
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
        {"127.0.0.1", "no HOST:PORT"},
        {"127.0.0.1:66000", "no HOST:PORT"},
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
        cmocka_unit_test(test_both_ways_at_once),
        cmocka_unit_test(test_an_adapter_that_talks_first),
        cmocka_unit_test(test_a_client_that_talks_first),
        cmocka_unit_test(test_many_at_once_and_in_turn),
        cmocka_unit_test(test_bytes_leave_at_once),
        cmocka_unit_test(test_each_side_sees_the_others_end),
        cmocka_unit_test(test_half_closed_is_not_closed),
        cmocka_unit_test(test_a_reset_takes_nothing_that_had_come),
        cmocka_unit_test(test_a_client_that_vanishes),
        cmocka_unit_test(test_an_adapter_that_refuses),
        cmocka_unit_test(test_300_mb_to_a_stopped_reader),
        cmocka_unit_test(test_idle_tunnels_are_small),
        cmocka_unit_test(test_debugpy_is_tuned_unseen),
        cmocka_unit_test(test_a_unix_socket),
        cmocka_unit_test(test_addresses_that_are_refused),
        cmocka_unit_test(test_connections_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
