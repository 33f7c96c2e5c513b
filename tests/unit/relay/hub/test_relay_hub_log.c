/* What a relay adds, bit by bit, to what it leaves the next. */
#include "cmocka_prelude.h"

#include "relay/hub/hub_log.h"

#include <stdlib.h>
#include <string.h>

#define CLEAR(n) "{\"command\":\"setBreakpoints\",\"arguments\":{\"n\":" #n "}}"

static const struct hub_snapshot little = {
    .pause = {.host = "h", .port = 1},
    .events = "[]",
    .clearing = "[]",
    .generation = 1,
};

static void check_read(const struct buf *text, int64_t generation, const char *clearing)
{
    struct hub_log log;
    assert_true(hub_log_read(&log, text->data, text->len));
    assert_string_equal(log.snapshot.pause.host, "h");
    assert_int_equal(log.snapshot.generation, generation);
    assert_string_equal(log.snapshot.clearing, clearing);
    hub_log_clear(&log);
}

static void what_is_added_counts(void **state)
{
    (void)state;
    struct buf text = {0};
    struct hub_snapshot it = little;
    hub_log_whole(&it, &text);
    check_read(&text, 1, "[]");
    hub_log_sets(CLEAR(1), strlen(CLEAR(1)), &text);
    check_read(&text, 1, "[" CLEAR(1) "]");
    it.generation = 2;
    it.clearing = "[5]"; /* news have none */
    hub_log_news(&it, &text);
    check_read(&text, 2, "[" CLEAR(1) "]");
    hub_log_sets(CLEAR(2) "," CLEAR(3), strlen(CLEAR(2) "," CLEAR(3)), &text);
    hub_log_sets(CLEAR(4), strlen(CLEAR(4)), &text);
    it.generation = 3;
    hub_log_news(&it, &text);
    check_read(&text, 3, "[" CLEAR(1) "," CLEAR(2) "," CLEAR(3) "," CLEAR(4) "]");
    buf_clear(&text, 0);
    it.clearing = "[" CLEAR(7) "]";
    hub_log_whole(&it, &text);
    hub_log_sets(CLEAR(8), strlen(CLEAR(8)), &text);
    check_read(&text, 3, "[" CLEAR(7) "," CLEAR(8) "]");
    buf_free(&text);
}

static void check_unread(const struct buf *text, const char *expected)
{
    struct hub_log log;
    assert_true(hub_log_read(&log, text->data, text->len));
    assert_int_equal(log.unread.len, strlen(expected));
    assert_memory_equal(log.unread.data ? log.unread.data : "", expected, strlen(expected));
    hub_log_clear(&log);
}

static void the_latest_unread_bytes_count(void **state)
{
    (void)state;
    struct buf text = {0};
    hub_log_whole(&little, &text);
    check_unread(&text, "");
    hub_log_unread("abc", 3, &text);
    check_unread(&text, "abc");
    hub_log_news(&little, &text);
    check_unread(&text, "abc");
    hub_log_unread("", 0, &text);
    check_unread(&text, "");
    hub_log_unread("de", 2, &text);
    check_unread(&text, "de");
    buf_free(&text);
}

/* Relays before this one left a packed snapshot and nothing else. */
static void a_snapshot_alone_is_read(void **state)
{
    (void)state;
    struct buf text = {0};
    hub_snapshot_pack(&little, &text);
    check_read(&text, 1, "[]");
    buf_free(&text);
}

/* However it is cut: it is read up to there, or not at all, and nothing else happens. */
static void cut_anywhere(void **state)
{
    (void)state;
    struct buf text = {0};
    size_t read = 0;
    hub_log_whole(&little, &text);
    size_t whole = text.len;
    hub_log_sets(CLEAR(1), strlen(CLEAR(1)), &text);
    hub_log_request(7, "head", 4, "body", 4, &text);
    hub_log_unread("unread", 6, &text);
    hub_log_news(&little, &text);
    for (size_t len = 0; len <= text.len; len++) {
        struct hub_log log;
        char *copy = malloc(len ? len : 1);
        assert_non_null(copy);
        memcpy(copy, text.data, len);
        bool good = hub_log_read(&log, copy, len);
        assert_int_equal(good, len >= whole);
        read += good;
        if (good)
            hub_log_rest(&log, 9);
        hub_log_clear(&log);
        free(copy);
    }
    assert_int_equal(read, text.len - whole + 1);
    buf_free(&text);
}

static void check_rest(struct hub_log *log, int64_t written, const char *rest)
{
    bool known = hub_log_rest(log, written);
    if (known != (rest != NULL))
        fail_msg("%d at %d", known, (int)written);
    if (!rest)
        return;
    assert_int_equal(log->rest.len, strlen(rest));
    assert_memory_equal(log->rest.data ? log->rest.data : "", rest, strlen(rest));
    assert_int_equal(log->records.len > 0, *rest != '\0');
}

static void the_rest_of_a_request(void **state)
{
    (void)state;
    struct buf text = {0};
    struct hub_log log;
    hub_log_whole(&little, &text);
    hub_log_request(100, "he", 2, "llo", 3, &text);    /* 100 to 105 */
    hub_log_request(105, "wo", 2, "rld!!!", 6, &text); /* 105 to 113 */
    hub_log_request(120, "a", 1, "gain", 4, &text);    /* 120 to 125; what came between was short */
    hub_log_request(-1, "no", 2, "place", 5, &text);
    hub_log_request(INT64_MAX, "no", 2, "place", 5, &text);
    hub_log_request(125, "not sent", 8, "", 0, &text);
    assert_true(hub_log_read(&log, text.data, text.len));
    check_rest(&log, 99, NULL); /* in the middle of what nobody knows */
    check_rest(&log, 100, "helloworld!!!");
    check_rest(&log, 101, "elloworld!!!");
    check_rest(&log, 104, "oworld!!!");
    check_rest(&log, 105, "world!!!");
    check_rest(&log, 106, "orld!!!");
    check_rest(&log, 112, "!");
    check_rest(&log, 113, "");
    check_rest(&log, 115, NULL);
    check_rest(&log, 120, "again");
    check_rest(&log, 121, "gain");
    check_rest(&log, 125, "not sent");
    check_rest(&log, 133, "");
    check_rest(&log, 1000, "");
    /* A relay that takes over keeps the records, and leaves them to the next one. */
    assert_true(hub_log_rest(&log, 102));
    struct hub_log next = {0};
    buf_add(&next.requests, log.requests.data + log.records.at, log.records.len);
    check_rest(&next, 104, "oworld!!!");
    check_rest(&next, 110, "!!!");
    hub_log_clear(&next);
    hub_log_clear(&log);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_counts),     cmocka_unit_test(the_latest_unread_bytes_count),
        cmocka_unit_test(a_snapshot_alone_is_read), cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(the_rest_of_a_request),
    };
    return cmocka_run_group_tests_name("hub_log", tests, NULL, NULL);
}
