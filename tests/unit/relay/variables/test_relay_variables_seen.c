/* What stands behind the rows that a client was shown. */
#include "cmocka_prelude.h"

#include "relay/variables/variables_rows.h"
#include "relay/variables/variables_seen.h"

#include <stdio.h>
#include <string.h>

static struct object_id id_of(uint8_t first)
{
    struct object_id id = {{first}};
    return id;
}

static void see_text(struct known *known, enum annotate_kind kind, int64_t reference, uint8_t id,
                     struct annotate_name name)
{
    struct annotate_seen seen = {
        .kind = kind, .reference = reference, .id = id_of(id), .name = name, .evaluate_name = name};
    struct object_probe probe;
    object_probe(&probe, &seen.id);
    known_note(known, &seen, &probe, 3);
}

static void see(struct known *known, enum annotate_kind kind, int64_t reference, uint8_t id,
                const char *name)
{
    see_text(known, kind, reference, id, (struct annotate_name){name, strlen(name)});
}

static const char *names(const struct known *known, uint8_t id)
{
    struct object_id object = id_of(id);
    return known_names(known, &object);
}

static void test_names(void **state)
{
    (void)state;
    struct known known = {0};
    assert_null(names(&known, 1));
    see(&known, ANNOTATE_REF, 0, 1, "refs");
    see(&known, ANNOTATE_REF, 0, 1, "refs");
    see(&known, ANNOTATE_REF, 0, 1, "by_name");
    assert_string_equal(names(&known, 1), "in refs, by_name");
    see(&known, ANNOTATE_REF, 11, 1, "big");
    assert_string_equal(names(&known, 1), "big");
    see(&known, ANNOTATE_REF, 12, 1, "bi");
    see(&known, ANNOTATE_REF, 11, 1, "big");
    see(&known, ANNOTATE_REF, 0, 1, "refs");
    assert_string_equal(names(&known, 1), "big, bi");
    see(&known, ANNOTATE_REF, 13, 2, "");
    assert_null(names(&known, 2));
    known_changed(&known);
    assert_null(names(&known, 1));
    known_clear(&known);
}

/* A name is a part of a message, whatever bytes it has and whatever follows. */
static void test_a_name_ends_where_its_length_says(void **state)
{
    (void)state;
    struct known known = {0};
    static const char nul[] = {'b', 'i', 'g', '\0', 'x'};
    see_text(&known, ANNOTATE_REF, 11, 1, (struct annotate_name){"bigger", 3});
    see_text(&known, ANNOTATE_REF, 11, 1, (struct annotate_name){"big, x", 3});
    assert_string_equal(names(&known, 1), "big");
    see_text(&known, ANNOTATE_REF, 12, 1, (struct annotate_name){"bigger", 4});
    assert_string_equal(names(&known, 1), "big, bigg");
    for (int i = 0; i < 100; i++)
        see_text(&known, ANNOTATE_REF, 13, 2, (struct annotate_name){nul, sizeof nul});
    assert_in_range(strlen(names(&known, 2)), 3, 120);
    see_text(&known, ANNOTATE_ARRAY, 14, 3, (struct annotate_name){"array[0]", 5});
    assert_string_equal(known_find(&known, 14)->evaluate_name, "array");
    see_text(&known, ANNOTATE_ARRAY, 14, 3, (struct annotate_name){"", 0});
    assert_string_equal(known_find(&known, 14)->evaluate_name, "");
    known_clear(&known);
}

static void test_a_list_of_names_ends_somewhere(void **state)
{
    (void)state;
    struct known known = {0};
    char name[16];
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "variable_%d", i);
        see(&known, ANNOTATE_REF, 100 + i, 1, name);
    }
    assert_in_range(strlen(names(&known, 1)), 80, 120);
    known_clear(&known);
}

/* They count up as a rule; whoever says that they do is not relied on. */
static void test_references_in_any_order(void **state)
{
    (void)state;
    enum { COUNT = 2000, STEP = 7 };
    struct known known = {0};
    for (int64_t i = 0; i < COUNT; i++)
        see(&known, ANNOTATE_REF, 1 + i * STEP % COUNT * 3, (uint8_t)(i % 251), "x");
    assert_int_equal(known.count, COUNT);
    for (int64_t i = 0; i < COUNT; i++)
        assert_int_equal(known_find(&known, 1 + i * STEP % COUNT * 3)->id.bytes[0], i % 251);
    for (int64_t i = 0; i < COUNT; i++) {
        assert_null(known_find(&known, 2 + 3 * i));
        assert_null(known_find(&known, -1 - 3 * i));
    }
    known_clear(&known);
}

static void test_too_many_references_are_not_known(void **state)
{
    (void)state;
    enum { LIMIT = 16384 };
    struct known known = {0};
    for (int64_t i = 1; i <= LIMIT + 10; i++)
        see(&known, ANNOTATE_REF, i, 1, "x");
    assert_non_null(known_find(&known, 1));
    assert_non_null(known_find(&known, LIMIT));
    assert_null(known_find(&known, LIMIT + 1));
    known_clear(&known);
}

static void test_references(void **state)
{
    (void)state;
    struct known known = {0};
    see(&known, ANNOTATE_REF, 11, 7, "big");
    see(&known, ANNOTATE_ARRAY, 12, 0, "array");
    see(&known, ANNOTATE_CONTAINER, 13, 0, "list");
    assert_true(known_find(&known, 11)->is_ref);
    assert_int_equal(known_find(&known, 11)->id.bytes[0], 7);
    assert_int_equal(known_find(&known, 11)->frame, 3);
    assert_true(known_find(&known, 12)->is_array);
    assert_string_equal(known_find(&known, 12)->evaluate_name, "array");
    assert_null(known_find(&known, 13));
    assert_null(known_find(&known, 0));
    known_clear(&known);
    assert_null(known_find(&known, 11));
}

static void test_references_belong_to_a_frame(void **state)
{
    (void)state;
    static const char json[] =
        "{\"variablesReference\": 21, \"value\": \"\\\"variablesReference\\\":22\","
        "\"variablesReference\":23,\"variablesReference\":0,"
        "\"variablesReference\":99999999999999999999,\"variablesReference\":";
    struct known known = {0};
    known_inherit(&known, json, sizeof json - 1, 5);
    assert_int_equal(known_frame(&known, 21), 5);
    assert_int_equal(known_frame(&known, 23), 5);
    assert_int_equal(known_frame(&known, 22), 0);
    assert_int_equal(known_frame(&known, 0), 0);
    assert_null(known_find(&known, 21));
    see(&known, ANNOTATE_REF, 21, 7, "big");
    assert_int_equal(known_frame(&known, 21), 3);
    known_clear(&known);
    assert_int_equal(known_frame(&known, 23), 0);
}

static void inherit(struct known *known, int from, int to, int step, int64_t frame)
{
    char json[64];
    for (int i = from; i <= to; i += step) {
        int len = snprintf(json, sizeof json, "{\"variablesReference\":%d}", i);
        known_inherit(known, json, (size_t)len, frame);
    }
}

static void test_a_run_is_inherited_as_its_references_are(void **state)
{
    (void)state;
    static const struct {
        int from, to;
        int64_t frame;
    } runs[] = {{10, 30, 1}, {15, 20, 2}, {16, 19, 2}, {12, 18, 2}, {14, 21, 2},
                {10, 30, 1}, {30, 32, 1}, {15, 15, 2}, {31, 40, 1}, {10, 12, 1}};
    struct known one = {0}, other = {0};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        inherit(&one, runs[i].from, runs[i].to, 1, runs[i].frame);
        known_inherit_run(&other, runs[i].from, runs[i].to, runs[i].frame);
        for (int reference = 1; reference < 50; reference++)
            assert_int_equal(known_frame(&one, reference), known_frame(&other, reference));
    }
    known_clear(&one);
    known_clear(&other);
}

static void test_the_last_frame_counts(void **state)
{
    (void)state;
    struct known known = {0};
    inherit(&known, 10, 30, 1, 1);
    inherit(&known, 15, 20, 1, 2);
    inherit(&known, 10, 30, 10, 1); /* again: 20 is of the first once more */
    for (int i = 1; i < 40; i++)
        assert_int_equal(known_frame(&known, i), i < 10 || i > 30 ? 0 : i >= 15 && i < 20 ? 2 : 1);
    size_t runs = known.run_count;
    inherit(&known, 10, 14, 1, 1);
    assert_int_equal(known.run_count, runs);
    known_clear(&known);
}

static void test_views(void **state)
{
    (void)state;
    struct known known = {0};
    struct object_id id = id_of(9);
    see(&known, ANNOTATE_ARRAY, 12, 0, "array");
    assert_int_equal(known_find(&known, 12)->view, VIEW_NOT_ASKED);
    known_set_view(&known, 12, &id);
    assert_int_equal(known.views, 1);
    assert_ptr_equal(known_view(&known, 3, "array"), known_find(&known, 12));
    assert_null(known_view(&known, 4, "array"));
    assert_null(known_view(&known, 3, "other"));
    see(&known, ANNOTATE_ARRAY, 12, 0, "alias"); /* the same object by another name */
    assert_int_equal(known_find(&known, 12)->view, VIEW_OF);
    known_set_view(&known, 12, NULL);
    assert_int_equal(known.views, 0);
    known_set_view(&known, 12, &id);
    known_changed(&known);
    assert_int_equal(known_find(&known, 12)->view, VIEW_NOT_ASKED);
    assert_int_equal(known.views, 0);
    known_set_view(&known, 99, &id);
    assert_int_equal(known.views, 0);
    known_clear(&known);
}

static void test_it_is_bounded(void **state)
{
    (void)state;
    struct known known = {0};
    inherit(&known, 1, 40000, 1, 1);
    assert_int_equal(known.run_count, 1);
    inherit(&known, 50000, 60000, 2, 1);
    assert_in_range(known.run_count, 200, 1000);
    assert_int_equal(known_frame(&known, 60000), 0);
    for (int i = 1; i < 40000; i++)
        see(&known, ANNOTATE_REF, i, 2, "");
    assert_in_range(known.count, 10000, 20000);
    assert_null(known_find(&known, 39999));
    see(&known, ANNOTATE_REF, 39999, 1, "more");
    assert_string_equal(names(&known, 1), "more");
    known_clear(&known);
}

static void test_numbers(void **state)
{
    (void)state;
    struct known known = {0};
    for (uint32_t i = 0; i < KNOWN_NUMBERS + 10; i++) {
        struct object_id id = {{0}};
        memcpy(id.bytes, &i, sizeof i);
        size_t expected = i < KNOWN_NUMBERS ? i + 1 : 0;
        assert_int_equal(known_number(&known, &id), expected);
        assert_int_equal(known_number(&known, &id), expected);
        if (expected)
            assert_memory_equal(known_numbered(&known, expected), &id, sizeof id);
    }
    assert_null(known_numbered(&known, 0));
    assert_null(known_numbered(&known, KNOWN_NUMBERS + 1));
    known_clear(&known);
}

/* --- references of the relay's own --- */

static void test_own_references(void **state)
{
    (void)state;
    static const int64_t stops[] = {0, 1, 77, (1 << 14) - 1, 1 << 14, INT64_MAX};
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        static const size_t numbers[] = {0, 1, 500, KNOWN_NUMBERS};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
            size_t number;
            int64_t own = rows_own_reference(stops[i], numbers[j]);
            assert_true(own >= 0x40000000 && own < INT64_C(0x80000000));
            assert_true(rows_is_own(own));
            assert_true(rows_read_own(own, stops[i], &number));
            assert_int_equal(number, numbers[j]);
            assert_int_equal(rows_read_own(own, stops[i] ^ 1, &number), numbers[j] == 0);
        }
    }
    assert_false(rows_is_own(0));
    assert_false(rows_is_own(0x3fffffff));
}

static struct row_page page_of(const char *arguments)
{
    return row_page_read(arguments, (struct span){0, strlen(arguments)});
}

static void test_pages(void **state)
{
    (void)state;
    struct row_page page = page_of("{\"filter\":\"indexed\",\"start\":10,\"count\":5}");
    assert_int_equal(page.filter, ROWS_INDEXED);
    assert_int_equal(page.start, 10);
    assert_int_equal(page.count, 5);
    page = page_of("{\"filter\":\"named\",\"start\":-1,\"count\":-7}");
    assert_int_equal(page.filter, ROWS_NAMED);
    assert_int_equal(page.start, 0);
    assert_int_equal(page.count, 0);
    page = page_of("{\"filter\":7,\"start\":\"3\"}");
    assert_int_equal(page.filter, ROWS_ALL);
    assert_int_equal(page.start, 0);
    page = row_page_read("", (struct span){0, 0});
    assert_int_equal(page.filter, ROWS_ALL);
}

static void test_a_row_is_json(void **state)
{
    (void)state;
    struct buf out = {0};
    buf_add_string(&out, "[");
    row_add(&out, "a\"b", "x\ny", "", 0);
    row_add(&out, "c", "\xff", "T", 7);
    assert_string_equal(
        out.data, "[{\"name\":\"a\\\"b\",\"value\":\"x\\ny\",\"type\":\"\","
                  "\"variablesReference\":0,\"presentationHint\":{\"kind\":\"virtual\","
                  "\"attributes\":[\"readOnly\"]}},{\"name\":\"c\",\"value\":\"\xEF\xBF\xBD\","
                  "\"type\":\"T\",\"variablesReference\":7,\"presentationHint\":{\"kind\":"
                  "\"virtual\",\"attributes\":[\"readOnly\"]}}");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_name_ends_where_its_length_says),
        cmocka_unit_test(test_a_list_of_names_ends_somewhere),
        cmocka_unit_test(test_references_in_any_order),
        cmocka_unit_test(test_too_many_references_are_not_known),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_references_belong_to_a_frame),
        cmocka_unit_test(test_the_last_frame_counts),
        cmocka_unit_test(test_a_run_is_inherited_as_its_references_are),
        cmocka_unit_test(test_views),
        cmocka_unit_test(test_it_is_bounded),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_own_references),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_a_row_is_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
