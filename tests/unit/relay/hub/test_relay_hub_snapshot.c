/* What one relay leaves the next: it comes back whole, or not at all. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "relay/hub/hub_snapshot.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define PAUSE "{\"endpoint\":\"h:1\",\"state\":\"held\",\"debugger\":\"debugpy\"}"

static const struct hub_snapshot full = {
    .pause = {.task_id = TASK_ID("c1"),
              .task_name = "train",
              .worker_id = UNIQUE_ID("a1"),
              .pid = 4711,
              .host = "10.0.0.7",
              .port = 5678,
              .state = PAUSE_HELD,
              .paused_threads = 1,
              .file = "/w/a.py",
              .line = 12,
              .reason = "breakpoint",
              .driver = "nvim",
              .clients = 2,
              .held_ms = INT64_C(1700000000123),
              .stopped_ms = INT64_C(1700000000124),
              .run = "0123456789abcdef0123456789abcdef"},
    .kept = true,
    .capabilities = "{\"supportsX\":true, \"big\" : 123456789012345678901234567890}",
    .attach = "{\"redirectOutput\":true, \"pathMappings\" : []}",
    .attached_by = "nvim \"1\" @ 127.0.0.1:1",
    .events = "[{\"seq\":0,\"type\":\"event\",\"event\":\"thread\"},{ \"n\":NaN}]",
    .clearing = "[{\"command\":\"setBreakpoints\",\"arguments\":{}}]",
    .generation = 7,
    .held_since_ms = INT64_C(1700000000456),
    .torn = true,
    .cut_s = 900,
    .adapter_pid = 4712,
};

/* Reads a copy that ends where `len` says: a byte more is the sanitizer's to find. */
static bool read_text(struct hub_snapshot *out, const char *text, size_t len)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    bool good = hub_snapshot_read(out, copy, len);
    free(copy);
    return good;
}

static void check_round_trip(const struct hub_snapshot *snapshot)
{
    struct buf text = {0};
    struct hub_snapshot again;
    hub_snapshot_write(snapshot, &text);
    if (!read_text(&again, text.data, text.len))
        fail_msg("not read: %s", text.data);
    assert_string_equal(again.pause.task_id, snapshot->pause.task_id);
    assert_string_equal(again.pause.worker_id, snapshot->pause.worker_id);
    assert_true(text_equal(again.pause.task_name, snapshot->pause.task_name));
    assert_true(text_equal(again.pause.host, snapshot->pause.host));
    assert_true(text_equal(again.pause.file, snapshot->pause.file));
    assert_true(text_equal(again.pause.driver, snapshot->pause.driver));
    assert_int_equal(again.pause.port, snapshot->pause.port);
    assert_int_equal(again.pause.state, snapshot->pause.state);
    assert_int_equal(again.pause.line, snapshot->pause.line);
    assert_int_equal(again.pause.clients, snapshot->pause.clients);
    assert_int_equal(again.pause.held_ms, snapshot->pause.held_ms);
    assert_int_equal(again.pause.stopped_ms, snapshot->pause.stopped_ms);
    assert_string_equal(again.pause.run, snapshot->pause.run);
    assert_int_equal(again.kept, snapshot->kept);
    assert_int_equal(again.torn, snapshot->torn);
    assert_int_equal(again.generation, snapshot->generation);
    assert_int_equal(again.held_since_ms, snapshot->held_since_ms);
    assert_int_equal(again.cut_s, snapshot->cut_s);
    assert_int_equal(again.adapter_pid, snapshot->adapter_pid);
    assert_true(text_equal(again.capabilities, snapshot->capabilities));
    assert_true(text_equal(again.attach, snapshot->attach));
    assert_true(text_equal(again.attached_by, snapshot->attached_by));
    assert_true(text_equal(again.events, snapshot->events));
    assert_true(text_equal(again.clearing, snapshot->clearing));
    hub_snapshot_clear(&again);
    buf_free(&text);
}

static void every_field_comes_back(void **state)
{
    (void)state;
    check_round_trip(&full);
    struct hub_snapshot other = full;
    other.kept = false;
    check_round_trip(&other);
    other.kept = true;
    other.torn = false;
    other.generation = 0;
    other.held_since_ms = INT64_MAX;
    other.events = other.clearing = "[]";
    check_round_trip(&other);
}

/* A snapshot with a list of breakpoints of so many bytes, which hardly repeat. */
static void check_packed(size_t size)
{
    struct buf clearing = {0}, packed = {0};
    struct hub_snapshot snapshot = full, again;
    uint32_t random = 1;
    buf_add_string(&clearing, "[\"");
    for (size_t i = 0; i < size; i++) {
        random = random * 1664525 + 1013904223;
        buf_printf(&clearing, "%c", '#' + (char)(random >> 27));
    }
    buf_add_string(&clearing, "\"]");
    snapshot.clearing = clearing.data;
    hub_snapshot_pack(&snapshot, &packed);
    assert_true(hub_snapshot_unpack(&again, packed.data, packed.len));
    assert_string_equal(again.clearing, clearing.data);
    assert_string_equal(again.capabilities, full.capabilities);
    hub_snapshot_clear(&again);
    assert_false(hub_snapshot_unpack(&again, packed.data, packed.len - 1));
    packed.data[0]++; /* the length of what was packed */
    assert_false(hub_snapshot_unpack(&again, packed.data, packed.len));
    buf_free(&packed);
    buf_free(&clearing);
}

static void packed_it_comes_back(void **state)
{
    static const size_t sizes[] = {0, 1, 1000, 4000, 4096, 5000, 70000, 1000000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_packed(sizes[i]);
}

/* An adapter may answer `initialize` without a body; none is no error. */
static void what_there_is_not_comes_back_as_none(void **state)
{
    (void)state;
    struct hub_snapshot little = {
        .pause = {.host = "h", .port = 1}, .events = "[]", .clearing = "[]"};
    check_round_trip(&little);
    struct hub_snapshot empty = little, again;
    struct buf text = {0};
    empty.capabilities = "";
    hub_snapshot_write(&empty, &text);
    assert_true(read_text(&again, text.data, text.len));
    assert_null(again.capabilities);
    hub_snapshot_clear(&again);
    buf_free(&text);
}

static void cleared_is_all_zero(void **state)
{
    (void)state;
    struct hub_snapshot snapshot = {.capabilities = mem_string("{}"), .generation = 3};
    hub_snapshot_clear(&snapshot);
    assert_null(snapshot.capabilities);
    assert_int_equal(snapshot.generation, 0);
    hub_snapshot_clear(&snapshot);
}

/* The members of a good snapshot; a test changes one. */
static const struct {
    const char *name, *good;
} members[] = {
    {"version", "1"},       {"generation", "2"}, {"held_since", "3"},
    {"kept", "true"},       {"torn", "false"},   {"pause", PAUSE},
    {"capabilities", "{}"}, {"events", "[]"},    {"clearing", "[]"},
};
enum { MEMBERS = sizeof members / sizeof *members };

/* The one at `index` with `value`, or without it if that is NULL, read into `out`. */
static bool read_with(struct hub_snapshot *out, size_t index, const char *value)
{
    struct buf text = {0};
    buf_add_string(&text, "{\"unknown\":[{\"version\":9}]");
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *is = i == index ? value : members[i].good;
        if (is)
            buf_printf(&text, ",\"%s\":%s", members[i].name, is);
    }
    buf_add_string(&text, "}");
    bool good = read_text(out, text.data, text.len);
    buf_free(&text);
    return good;
}

static void check_refused(size_t index, const char *value)
{
    struct hub_snapshot snapshot;
    if (read_with(&snapshot, index, value))
        fail_msg("read with %s: %s", members[index].name, value ? value : "(none)");
    assert_null(snapshot.pause.host);
    assert_null(snapshot.capabilities);
}

static void unknown_members_are_skipped(void **state)
{
    (void)state;
    struct hub_snapshot snapshot;
    assert_true(read_with(&snapshot, MEMBERS, NULL));
    assert_int_equal(snapshot.generation, 2);
    assert_int_equal(snapshot.held_since_ms, 3);
    assert_true(snapshot.kept);
    assert_false(snapshot.torn);
    assert_string_equal(snapshot.pause.host, "h");
    hub_snapshot_clear(&snapshot);
}

/* Earlier versions of the relay have not written them. */
static void counts_need_not_be_there(void **state)
{
    static const char *const none[] = {"0", "-1", "1.5", "null", "\"900\"", "2147483648"};
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct hub_snapshot snapshot;
        struct buf version = {0};
        buf_printf(&version, "1,\"cut_s\":%s,\"adapter_pid\":%s", none[i], none[i]);
        assert_true(read_with(&snapshot, 0, version.data));
        assert_int_equal(snapshot.cut_s, 0);
        assert_int_equal(snapshot.adapter_pid, 0);
        hub_snapshot_clear(&snapshot);
        buf_free(&version);
    }
}

/* State that is not all there is not restored. */
static void every_member_must_be_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < MEMBERS; i++)
        check_refused(i, NULL);
}

static void other_versions_are_refused(void **state)
{
    (void)state;
    static const char *const versions[] = {"0", "2", "-1", "1.5", "\"1\"", "null", "true", "[1]"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        check_refused(0, versions[i]);
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    static const struct {
        size_t first, last;
        const char *value;
    } wrong[] = {
        {1, 2, "\"1\""}, {1, 2, "1.5"},       {1, 2, "null"},
        {1, 2, "true"},  {1, 2, "[]"},        {1, 2, "99999999999999999999"},
        {3, 4, "null"},  {3, 4, "1"},         {3, 4, "\"true\""},
        {3, 4, "[]"},    {5, 5, "null"},      {5, 5, "[]"},
        {5, 5, "{}"},    {5, 5, "\"pause\""}, {7, 8, "null"},
        {7, 8, "{}"},    {7, 8, "\"[]\""},    {7, 8, "5"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (size_t k = wrong[i].first; k <= wrong[i].last; k++)
            check_refused(k, wrong[i].value);
}

static void what_is_no_snapshot(void **state)
{
    (void)state;
    static const char *const none[] = {"",
                                       " ",
                                       "null",
                                       "1",
                                       "\"version\"",
                                       "[]",
                                       "[1]",
                                       "{}",
                                       "x",
                                       "{\"version\":1}",
                                       "{\"version\":1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct hub_snapshot snapshot;
        assert_false(read_text(&snapshot, none[i], strlen(none[i])));
        assert_null(snapshot.pause.host);
    }
}

/* What is kept as a C string would be cut there, and the snapshot made of it could not be read. */
static void a_raw_nul_within_a_text(void **state)
{
    (void)state;
    struct buf text = {0};
    struct hub_snapshot snapshot;
    hub_snapshot_write(&full, &text);
    char *name = strstr(text.data, "supportsX");
    assert_non_null(name);
    name[3] = '\0';
    assert_false(read_text(&snapshot, text.data, text.len));
    buf_free(&text);
}

static void cut_anywhere(void **state)
{
    (void)state;
    struct buf text = {0};
    struct hub_snapshot snapshot;
    hub_snapshot_write(&full, &text);
    for (size_t len = 0; len < text.len; len++)
        assert_false(read_text(&snapshot, text.data, len));
    assert_true(read_text(&snapshot, text.data, text.len));
    hub_snapshot_clear(&snapshot);
    buf_free(&text);
}

/* Whatever a byte becomes: it is read or it is not, and nothing else happens. */
static void broken_anywhere(void **state)
{
    (void)state;
    static const char bytes[] = "\0\"\\{}[],:-.0n\x80\xFF";
    struct buf text = {0};
    size_t refused = 0;
    hub_snapshot_write(&full, &text);
    for (size_t i = 0; i < text.len; i++) {
        char was = text.data[i];
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            struct hub_snapshot snapshot;
            text.data[i] = bytes[k];
            refused += !read_text(&snapshot, text.data, text.len);
            hub_snapshot_clear(&snapshot);
        }
        text.data[i] = was;
    }
    assert_true(refused > 1000);
    buf_free(&text);
}

/* As relays did it at first. */
static void packed_without_words_is_read(void **state)
{
    (void)state;
    struct buf text = {0};
    struct hub_snapshot again;
    char packed[4096];
    uLongf len = sizeof packed - sizeof(uint32_t);
    hub_snapshot_write(&full, &text);
    uint32_t plain = (uint32_t)text.len;
    memcpy(packed, &plain, sizeof plain);
    assert_int_equal(compress((Bytef *)packed + sizeof plain, &len, (Bytef *)text.data, text.len),
                     Z_OK);
    assert_true(hub_snapshot_unpack(&again, packed, len + sizeof plain));
    assert_string_equal(again.pause.task_name, "train");
    hub_snapshot_clear(&again);
    buf_free(&text);
}

/* Two of them lie in shared memory for each debuggee, in blocks of powers of two. */
static void packed_is_small(void **state)
{
    (void)state;
    struct buf packed = {0};
    struct hub_snapshot usual = full;
    usual.capabilities = mem_string(capabilities_default());
    hub_snapshot_pack(&usual, &packed);
    assert_true(packed.len < 512);
    free(usual.capabilities);
    buf_free(&packed);
}

static char *long_text(const char *before, size_t len, const char *after)
{
    struct buf text = {0};
    buf_add_string(&text, before);
    memset(buf_reserve(&text, len), 'x', len);
    text.len += len;
    buf_add_string(&text, after);
    return buf_take(&text);
}

/* Too long for who reads it, it would be lost with the pause: what makes it long is left out. */
static void check_long(const struct hub_snapshot *snapshot, struct hub_snapshot *again)
{
    struct buf packed = {0};
    hub_snapshot_pack(snapshot, &packed);
    assert_true(hub_snapshot_unpack(again, packed.data, packed.len));
    assert_string_equal(again->pause.task_name, "train");
    assert_int_equal(again->generation, full.generation);
    buf_free(&packed);
}

static void the_longest_comes_back(void **state)
{
    (void)state;
    struct hub_snapshot snapshot = full, again;
    log_set_level("error");
    char *stop =
        long_text("[{\"seq\":3,\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"text\":\"",
                  HUB_SNAPSHOT_MAX,
                  "\",\"threadId\":7,\"reason\":\"exception\",\"allThreadsStopped\":false}},"
                  "{\"seq\":0,\"event\":\"thread\"}]");
    char *clearing = long_text("[\"", HUB_SNAPSHOT_MAX, "\"]");
    char *capabilities = long_text("{\"x\":\"", HUB_SNAPSHOT_MAX, "\"}");
    snapshot.events = stop;
    check_long(&snapshot, &again);
    assert_string_equal(again.events,
                        "[{\"seq\":0,\"type\":\"event\",\"event\":\"stopped\",\"body\":{"
                        "\"preserveFocusHint\":false,"
                        "\"reason\":\"exception\",\"threadId\":7,\"allThreadsStopped\":false}},"
                        "{\"seq\":0,\"event\":\"thread\"}]");
    assert_string_equal(again.clearing, full.clearing);
    hub_snapshot_clear(&again);
    snapshot.clearing = clearing;
    check_long(&snapshot, &again);
    assert_string_equal(again.clearing, "[]");
    assert_string_equal(again.capabilities, full.capabilities);
    hub_snapshot_clear(&again);
    snapshot.capabilities = capabilities;
    check_long(&snapshot, &again);
    assert_null(again.capabilities);
    hub_snapshot_clear(&again);
    log_set_level("warn");
    free(stop);
    free(clearing);
    free(capabilities);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_it_comes_back),
        cmocka_unit_test(the_longest_comes_back),
        cmocka_unit_test(every_field_comes_back),
        cmocka_unit_test(what_there_is_not_comes_back_as_none),
        cmocka_unit_test(cleared_is_all_zero),
        cmocka_unit_test(unknown_members_are_skipped),
        cmocka_unit_test(counts_need_not_be_there),
        cmocka_unit_test(every_member_must_be_there),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(what_is_no_snapshot),
        cmocka_unit_test(a_raw_nul_within_a_text),
        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(broken_anywhere),
        cmocka_unit_test(packed_without_words_is_read),
        cmocka_unit_test(packed_is_small),
    };
    return cmocka_run_group_tests_name("hub_snapshot", tests, NULL, NULL);
}
