/* The link: large messages, in parts. */
#include "cmocka_prelude.h"
#include "link_fixture.h"

static void test_large_messages_pass_in_order(void **state)
{
    (void)state;
    static const size_t pieces[] = {997, 16384, 65536, 10000000};
    struct buf out = {0};
    struct writer writer = {0};
    add_message(&out, event_start, LINK_LARGE); /* not large */
    add_message(&out, event_start, LINK_LARGE + 1);
    add_message(&out, event_start, 90);
    size_t start = out.len;
    add_message(&out, response_start(FIRST_SEQ), 3000000);
    size_t end = out.len;
    add_message(&out, event_start, 91);
    size_t skip = strlen("Content-Length: 3000000\r\n\r\n");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct fixture it;
        struct pending pending;
        set_up(&it);
        forward(&it, 7, "variables");
        writer =
            (struct writer){.fd = it.peer, .bytes = out.data, .len = out.len, .piece = pieces[i]};
        write_start(&writer);
        assert_log(&it, "output:262144 begin output@0:262145 end:whole output:90 "
                        "begin x@7:3000000 end:whole output:91 ");
        pthread_join(writer.thread, NULL);
        assert_int_equal(it.large.len, LINK_LARGE + 1 + 3000000);
        assert_memory_equal(it.large.data + LINK_LARGE + 1, out.data + start + skip,
                            end - start - skip);
        assert_false(link_take_pending(it.link, &owner, &pending));
        tear_down(&it);
    }
    buf_free(&out);
}

static void test_what_cannot_pass_comes_whole(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct writer writer;
    set_up(&it);
    forward(&it, 7, "variables");
    link_ask(it.link, "threads", NULL, 0, on_answer, &it);
    add_message(&out, response_start(FIRST_SEQ + 1), 400000);               /* an ask's */
    add_message(&out, "{\"type\":\"event\",\"event\":\"output\",", 400001); /* no seq */
    add_message(&out, "{\"x\":[{\"seq\":3}],\"type\":\"event\",\"event\":\"output\",", 400002);
    add_message(&out, response_start(FIRST_SEQ + 77), 400003); /* nobody's: dropped */
    it.refuse_large = true;
    add_message(&out, response_start(FIRST_SEQ), 400004);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = out.len, .piece = 5000};
    write_start(&writer);
    assert_log(&it, "asked:400000 output:400001 output:400002 "
                    "refused x@7:400004 variables@7:400004 ");
    pthread_join(writer.thread, NULL);
    buf_free(&out);
    tear_down(&it);
}

static void test_death_inside_a_large_message(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct pending pending;
    struct writer writer;
    set_up(&it);
    forward(&it, 7, "variables");
    forward(&it, 8, "scopes");
    take_all(&it);
    add_message(&out, response_start(FIRST_SEQ), 500000);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = 300000, .piece = 300000};
    write_start(&writer);
    pthread_join(writer.thread, NULL);
    close(it.peer);
    it.peer = -1;
    assert_log(&it, "begin x@7:500000 end:cut close(the debugger closed the connection) ");
    assert_true(link_take_pending(it.link, &owner, &pending)); /* only what was not begun */
    assert_int_equal(pending.client.value, 8);
    assert_false(link_take_pending(it.link, &owner, &pending));
    buf_free(&out);
    tear_down(&it);
}

static void test_a_link_may_be_destroyed_inside_a_large_message(void **state)
{
    (void)state;
    struct fixture it;
    struct buf out = {0};
    struct writer writer;
    set_up(&it);
    it.destroy_at_part = true;
    add_message(&out, event_start, 500000);
    writer = (struct writer){.fd = it.peer, .bytes = out.data, .len = 400000, .piece = 400000};
    write_start(&writer);
    for (int64_t until = loop_now_us() + 5000000; it.link && loop_now_us() < until;)
        loop_run_once(it.loop, 20);
    run(&it, 30);
    pthread_join(writer.thread, NULL);
    assert_null(it.link);
    assert_string_equal(it.log.data, "begin output@0:500000 ");
    buf_free(&out);
    tear_down(&it);
}

/* 300 MiB, which is more than may be collected. */
static void test_a_body_of_any_size_costs_no_memory(void **state)
{
    (void)state;
    enum { MIB = 1024 * 1024, SIZE_MIB = 300 };
#ifdef __SANITIZE_ADDRESS__
    const size_t room = (size_t)32 * MIB;
#else
    const size_t room = (size_t)1 * MIB;
#endif
    struct fixture it;
    struct buf start = {0};
    char header[FRAME_HEADER_ROOM];
    struct writer writer;
    set_up(&it);
    it.discard = true;
    size_t len = (size_t)SIZE_MIB * MIB + strlen(event_start) + strlen("\"body\":\"");
    buf_add(&start, header, frame_header(header, len));
    buf_add_string(&start, event_start);
    buf_add_string(&start, "\"body\":\"");
    assert_true(tcp_peer_write(it.peer, start.data, start.len));
    char *block = mem_alloc(MIB);
    memset(block, 'x', MIB);
    run(&it, 20);
    size_t before = tcp_peer_rss(), most = 0;
    writer = (struct writer){
        .fd = it.peer, .bytes = block, .len = MIB, .piece = MIB, .repeat = SIZE_MIB};
    write_start(&writer);
    for (int64_t until = loop_now_us() + 60000000;
         it.passed < len && !it.closed && loop_now_us() < until;) {
        loop_run_once(it.loop, 20);
        size_t now = tcp_peer_rss();
        most = now > most ? now : most;
    }
    pthread_join(writer.thread, NULL);
    assert_non_null(strstr(it.log.data, "end:whole"));
    print_message("300 MiB through: RSS grew by %zu KiB\n",
                  most > before ? (most - before) / 1024 : 0);
    assert_true(most < before + room);
    free(block);
    buf_free(&start);
    tear_down(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_messages_pass_in_order),
        cmocka_unit_test(test_what_cannot_pass_comes_whole),
        cmocka_unit_test(test_death_inside_a_large_message),
        cmocka_unit_test(test_a_link_may_be_destroyed_inside_a_large_message),
        cmocka_unit_test(test_a_body_of_any_size_costs_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
