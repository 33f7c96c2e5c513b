/* A pause as JSON and back: every field, and what another version or a broken pipe makes of it. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_json.h"

#include <stdlib.h>
#include <string.h>

#define NEEDED "\"endpoint\":\"10.0.0.7:5678\",\"state\":\"waiting\",\"debugger\":\"debugpy\""

static char candidates[2][ID_TEXT(ID_TASK_BYTES)] = {TASK_ID("c1"), TASK_ID("c2")};

static const struct pause full = {
    .task_id = TASK_ID("c1"),
    .task_name = "train \"it\"\n\t\\ \xC3\xA4 \x7F \xC2\x9B \xF0\x9F\x90\x8D",
    .actor_id = ACTOR_ID("d2"),
    .actor_class = "Trainer",
    .actor_name = "bob",
    .job_id = JOB_ID("0a"),
    .node_id = UNIQUE_ID("b1"),
    .node_ip = "10.0.0.7",
    .worker_id = UNIQUE_ID("a1"),
    .pid = 4711,
    .debugger = PAUSE_PDB,
    .host = "fd00::7",
    .port = 65535,
    .state = PAUSE_HELD,
    .paused_threads = 0,
    .ambiguous = true,
    .candidates = candidates,
    .candidate_count = 2,
    .file = "/w/\xE2\x82\xAC.py",
    .line = INT64_MAX,
    .reason = "breakpoint",
    .clients = 3,
    .driver = "nvim @ 127.0.0.1:5",
    .held_ms = INT64_C(1700000000123),
    .stopped_ms = INT64_C(1700000000456),
    .client_left = true,
    .run = "0123456789abcdef0123456789abcdef",
    .since_ms = INT64_C(1699999999007),
};

static void check_same(const struct pause *a, const struct pause *b)
{
    assert_string_equal(a->task_id, b->task_id);
    assert_true(text_equal(a->task_name, b->task_name));
    assert_string_equal(a->actor_id, b->actor_id);
    assert_true(text_equal(a->actor_class, b->actor_class));
    assert_true(text_equal(a->actor_name, b->actor_name));
    assert_string_equal(a->job_id, b->job_id);
    assert_string_equal(a->node_id, b->node_id);
    assert_true(text_equal(a->node_ip, b->node_ip));
    assert_string_equal(a->worker_id, b->worker_id);
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->debugger, b->debugger);
    assert_true(text_equal(a->host, b->host));
    assert_int_equal(a->port, b->port);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->paused_threads, b->paused_threads);
    assert_int_equal(a->ambiguous, b->ambiguous);
    assert_int_equal(a->candidate_count, b->candidate_count);
    for (size_t i = 0; i < a->candidate_count; i++)
        assert_string_equal(a->candidates[i], b->candidates[i]);
    assert_true(text_equal(a->file, b->file));
    assert_int_equal(a->line, b->line);
    assert_true(text_equal(a->reason, b->reason));
    assert_int_equal(a->clients, b->clients);
    assert_true(text_equal(a->driver, b->driver));
    assert_int_equal(a->held_ms, b->held_ms);
    assert_int_equal(a->stopped_ms, b->stopped_ms);
    assert_int_equal(a->client_left, b->client_left);
    assert_string_equal(a->run, b->run);
    assert_int_equal(a->since_ms, b->since_ms);
}

/* Reads a copy that ends where `len` says: a byte more is the sanitizer's to find. */
static bool read_text(struct pause *out, const char *text, size_t len)
{
    struct scan scan;
    struct span value;
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    scan_init(&scan, copy, len);
    bool good = scan_value(&scan, &value) && pause_json_read(out, copy, value);
    free(copy);
    return good;
}

static void read_good(struct pause *out, const char *json)
{
    if (!read_text(out, json, strlen(json)))
        fail_msg("not read: %s", json);
}

static void check_round_trip(const struct pause *pause)
{
    struct buf json = {0};
    struct pause again;
    pause_json(pause, &json);
    read_good(&again, json.data);
    check_same(&again, pause);
    pause_clear(&again);
    buf_free(&json);
}

static void every_field_comes_back(void **state)
{
    (void)state;
    check_round_trip(&full);
    struct pause little = {.host = "h", .port = 1, .paused_threads = -1};
    check_round_trip(&little);
}

static void every_state_comes_back(void **state)
{
    (void)state;
    static const enum pause_state states[] = {PAUSE_WAITING, PAUSE_ATTACHED, PAUSE_HELD,
                                              PAUSE_IDLE};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        struct pause pause = full;
        pause.state = states[i];
        pause.debugger = i % 2 ? PAUSE_PDB : PAUSE_DEBUGPY;
        check_round_trip(&pause);
    }
}

static void absent_members_are_unknown(void **state)
{
    (void)state;
    struct pause pause;
    read_good(&pause, " { " NEEDED " } ");
    struct pause expected = {.host = "10.0.0.7", .port = 5678, .paused_threads = -1};
    check_same(&pause, &expected);
    assert_null(pause.node_name);
    assert_false(pause.name_pending);
    pause_clear(&pause);
    read_good(&pause, "{" NEEDED ",\"clients\":4,\"pid\":7}"); /* not held */
    assert_int_equal(pause.clients, 4);
    assert_int_equal(pause.pid, 7);
    pause_clear(&pause);
}

static void unknown_members_are_skipped(void **state)
{
    (void)state;
    struct pause pause;
    read_good(&pause,
              "{\"new\":{\"pid\":1,\"state\":\"idle\"},\"Pid\":2," NEEDED
              ",\"newer\":[{\"endpoint\":\"x\"}],\"pid\":3,\"pid\":4,\"\\u0064river\":\"d\"}");
    assert_int_equal(pause.pid, 4);
    assert_int_equal(pause.state, PAUSE_WAITING);
    assert_string_equal(pause.driver, "d");
    assert_string_equal(pause.host, "10.0.0.7");
    pause_clear(&pause);
}

/* A member of another type is as good as none. */
static void wrong_types_are_unknown(void **state)
{
    (void)state;
    static const char *const wrong[] = {"null", "{}", "[]", "true", "{\"a\":1}", "-1.5"};
    static const char *const names[] = {
        "task_id",        "task_name",  "actor_id",   "actor_class", "actor_name",
        "job_id",         "node_id",    "node_ip",    "pid",         "worker_id",
        "paused_threads", "candidates", "location",   "since",       "reason",
        "clients",        "driver",     "held_since", "run",         "stopped_at",
    };
    struct pause expected = {.host = "10.0.0.7", .port = 5678, .paused_threads = -1}, pause;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
            char *json = mem_format("{" NEEDED ",\"%s\":%s}", names[i], wrong[k]);
            read_good(&pause, json);
            check_same(&pause, &expected);
            pause_clear(&pause);
            free(json);
        }
    }
    read_good(&pause, "{" NEEDED ",\"ambiguous\":\"true\",\"pid\":\"4\",\"since\":\"5\","
                      "\"task_name\":6,\"location\":{\"file\":7,\"line\":\"8\"}}");
    check_same(&pause, &expected);
    pause_clear(&pause);
}

static void odd_candidates(void **state)
{
    (void)state;
    struct pause pause;
    read_good(&pause, "{" NEEDED ",\"candidates\":[null,\"" TASK_ID("c1") "\",5,\"" TASK_ID(
                          "c2") "ff\",\"\"]}");
    assert_int_equal(pause.candidate_count, 5);
    assert_string_equal(pause.candidates[0], "");
    assert_string_equal(pause.candidates[1], TASK_ID("c1"));
    assert_string_equal(pause.candidates[2], "");
    assert_string_equal(pause.candidates[3], ""); /* too long */
    assert_string_equal(pause.candidates[4], "");
    pause_clear(&pause);
}

static void what_is_no_id_is_unknown(void **state)
{
    (void)state;
    struct pause pause;
    read_good(&pause,
              "{" NEEDED ",\"run\":\"" UNIQUE_ID(
                  "a1") "\",\"job_id\":\"0a0000000000\",\"worker_id\":\"" UNIQUE_ID("a1")
                  UNIQUE_ID("a1") "\",\"actor_id\":\"\\\"}],\",\"task_id\":\"" TASK_ID("c1") "\"}");
    assert_string_equal(pause.run, "");
    assert_string_equal(pause.job_id, "");
    assert_string_equal(pause.worker_id, "");
    assert_string_equal(pause.actor_id, "");
    assert_string_equal(pause.task_id, TASK_ID("c1"));
    pause_clear(&pause);
}

static void what_is_no_pause(void **state)
{
    (void)state;
    static const char *const none[] = {
        "null",
        "5",
        "\"{}\"",
        "[]",
        "[{" NEEDED "}]",
        "{}",
        "{\"state\":\"waiting\",\"debugger\":\"pdb\"}",
        "{\"endpoint\":\"h:1\",\"debugger\":\"pdb\"}",
        "{\"endpoint\":\"h:1\",\"state\":\"waiting\"}",
        "{" NEEDED ",\"endpoint\":null}",
        "{" NEEDED ",\"endpoint\":5}",
        "{" NEEDED ",\"endpoint\":\"\"}",
        "{" NEEDED ",\"endpoint\":\"h\"}",
        "{" NEEDED ",\"endpoint\":\":1\"}",
        "{" NEEDED ",\"endpoint\":\"h:0\"}",
        "{" NEEDED ",\"endpoint\":\"h:65536\"}",
        "{" NEEDED ",\"endpoint\":\"fd00::7:1\"}",
        "{" NEEDED ",\"state\":null}",
        "{" NEEDED ",\"state\":1}",
        "{" NEEDED ",\"state\":\"\"}",
        "{" NEEDED ",\"state\":\"Waiting\"}",
        "{" NEEDED ",\"debugger\":null}",
        "{" NEEDED ",\"debugger\":0}",
        "{" NEEDED ",\"debugger\":\"gdb\"}",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct pause pause = {0};
        if (read_text(&pause, none[i], strlen(none[i])))
            fail_msg("read: %s", none[i]);
        assert_null(pause.host);
        assert_null(pause.task_name);
    }
}

/* What was read before the fault was found must not leak. */
static void a_refused_one_is_cleared(void **state)
{
    (void)state;
    struct buf json = {0};
    struct pause pause;
    pause_json(&full, &json);
    json.len--;
    buf_add_string(&json, ",\"state\":\"unheard of\"}");
    assert_false(read_text(&pause, json.data, json.len));
    assert_null(pause.task_name);
    assert_null(pause.candidates);
    assert_int_equal(pause.candidate_count, 0);
    buf_free(&json);
}

static void hosts_that_do_not_fit(void **state)
{
    (void)state;
    char host[300];
    for (size_t len = 250; len < 260; len++) {
        struct pause pause = {0};
        memset(host, 'h', len);
        host[len] = '\0';
        char *json = mem_format("{" NEEDED ",\"endpoint\":\"%s:1\"}", host);
        bool good = read_text(&pause, json, strlen(json));
        assert_int_equal(good, len < 256);
        if (good)
            assert_string_equal(pause.host, host);
        pause_clear(&pause);
        free(json);
    }
}

/* --- times --- */

static void check_time(const char *number, int64_t ms)
{
    struct pause pause;
    char *json = mem_format("{" NEEDED ",\"since\":%s,\"held_since\":%s}", number, number);
    read_good(&pause, json);
    if (pause.since_ms != ms || pause.held_ms != ms)
        fail_msg("%s is %lld ms", number, (long long)pause.since_ms);
    pause_clear(&pause);
    free(json);
}

static void times(void **state)
{
    (void)state;
    check_time("0", 0);
    check_time("1", 1000);
    check_time("1.5", 1500);
    check_time("1.05", 1050);
    check_time("1.0019999", 1001);
    check_time("1700000000.123", INT64_C(1700000000123));
    check_time("1700000000.000", INT64_C(1700000000000));
    check_time("999999999999.999", INT64_C(999999999999999));
    check_time("1000000000000", 0);
    check_time("99999999999999999999999999999999999999999.5", 0);
    check_time("1e9", 0);
    check_time("1.5e9", 0);
    check_time("1e999", 0);
    check_time("-5", 0);
    check_time("NaN", 0);
    check_time("Infinity", 0);
}

static void milliseconds_come_back(void **state)
{
    (void)state;
    for (int64_t ms = 0; ms < 1000; ms++) {
        struct pause pause = {.host = "h", .port = 1, .paused_threads = -1};
        pause.since_ms = INT64_C(1700000000000) + ms;
        pause.held_ms = 1 + ms;
        check_round_trip(&pause);
    }
}

/* --- cut and broken texts --- */

static void cut_anywhere(void **state)
{
    (void)state;
    struct buf json = {0};
    struct pause pause;
    pause_json(&full, &json);
    for (size_t len = 0; len < json.len; len++)
        assert_false(read_text(&pause, json.data, len));
    assert_true(read_text(&pause, json.data, json.len));
    pause_clear(&pause);
    buf_free(&json);
}

/* Whatever a byte becomes: it is read or it is not, and nothing else happens. */
static void broken_anywhere(void **state)
{
    (void)state;
    static const char bytes[] = "\0\"\\{}[],:-.0n\x80\xFF";
    struct buf json = {0};
    size_t refused = 0;
    pause_json(&full, &json);
    for (size_t i = 0; i < json.len; i++) {
        char was = json.data[i];
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            struct pause pause = {0};
            json.data[i] = bytes[k];
            refused += !read_text(&pause, json.data, json.len);
            pause_clear(&pause);
        }
        json.data[i] = was;
    }
    assert_true(refused > 1000);
    buf_free(&json);
}

/* --- lists --- */

static bool read_list(struct pause_list *list, const char *json)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, json, strlen(json));
    return scan_value(&scan, &value) && pauses_json_read(list, json, value);
}

static void lists_come_back(void **state)
{
    (void)state;
    struct pause items[] = {full, {.host = "h", .port = 1, .paused_threads = -1}, full};
    items[2].state = PAUSE_IDLE;
    for (size_t count = 0; count <= 3; count++) {
        struct pause_list list = {items, count}, again;
        struct buf json = {0};
        pauses_json(&list, &json);
        assert_int_equal(json.data[json.len - 1], '\n');
        assert_true(read_list(&again, json.data));
        assert_int_equal(again.count, count);
        for (size_t i = 0; i < count; i++)
            check_same(&again.items[i], &items[i]);
        pause_list_clear(&again);
        buf_free(&json);
    }
}

static void one_bad_pause_spoils_the_list(void **state)
{
    (void)state;
    static const char *const bad[] = {"null",
                                      "{}",
                                      "{" NEEDED "}",
                                      "[{" NEEDED "},null]",
                                      "[{" NEEDED "},{}]",
                                      "[{},{" NEEDED "}]",
                                      "[[{" NEEDED "}]]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pause_list list = {0};
        if (read_list(&list, bad[i]))
            fail_msg("read: %s", bad[i]);
        assert_null(list.items);
        assert_int_equal(list.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(every_state_comes_back),
        cmocka_unit_test(absent_members_are_unknown),
        cmocka_unit_test(unknown_members_are_skipped),
        cmocka_unit_test(wrong_types_are_unknown),
        cmocka_unit_test(odd_candidates),
        cmocka_unit_test(what_is_no_id_is_unknown),
        cmocka_unit_test(what_is_no_pause),
        cmocka_unit_test(a_refused_one_is_cleared),
        cmocka_unit_test(hosts_that_do_not_fit),
        cmocka_unit_test(times),
        cmocka_unit_test(milliseconds_come_back),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(broken_anywhere),
        cmocka_unit_test(lists_come_back),
        cmocka_unit_test(one_bad_pause_spoils_the_list),
    };
    return cmocka_run_group_tests_name("pause_json", tests, NULL, NULL);
}
