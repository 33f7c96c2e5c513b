/* Answers that are kept for the stop: which of them are found again, with which head, and how many.
 */
#include "cmocka_prelude.h"

#include "relay/session_objects_kept.h"

#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct kept_basis basis = {.reference = 6, .frame = 3, .facts = 9, .known = 4};

struct answer {
    char *json;
    size_t len, rows;
    struct envelope envelope;
};

/* With `size` bytes of one row's value, of this letter. */
static struct answer answer_of(int seq, const char *front, char letter, size_t size)
{
    struct answer answer;
    const char *problem;
    char *value = mem_array(size + 1, 1);
    memset(value, letter, size);
    answer.json = mem_format("{\"seq\": %d, \"type\": \"response\", \"request_seq\": %d, "
                             "\"success\": true, \"command\": \"variables\", \"body\": {%s"
                             "\"variables\": [\"%s\"], \"more\": 1}} ",
                             seq, seq + 1, front, value);
    free(value);
    answer.len = strlen(answer.json);
    assert_int_equal(envelope_read(&answer.envelope, answer.json, answer.len, &problem), 0);
    answer.rows = kept_rows(answer.json, answer.len, &answer.envelope);
    return answer;
}

static void put(struct kept_list *list, const struct answer *answer, const char *edited_json)
{
    struct buf edited = {0};
    if (edited_json)
        buf_add_string(&edited, edited_json);
    kept_put(list, &basis, answer->json, answer->len, &answer->envelope, &edited, NULL);
    buf_free(&edited);
}

static struct kept *find(const struct kept_list *list, const struct answer *answer)
{
    return kept_find(list, answer->json + answer->rows, answer->len - answer->rows);
}

static bool is_kept(const struct kept_list *list, int seq, char letter, size_t size)
{
    struct answer answer = answer_of(seq, "", letter, size);
    bool found = find(list, &answer) != NULL;
    free(answer.json);
    return found;
}

static void keep(struct kept_list *list, char letter, size_t size)
{
    struct answer answer = answer_of(1, "", letter, size);
    put(list, &answer, NULL);
    free(answer.json);
}

static void test_rows_are_found_behind_any_head(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool found;
    } cases[] = {
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"
         "\"variables\","
         "\"body\":{\"variables\":[]}}",
         true},
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"
         "\"variables\","
         "\"body\" : { \"a\":{\"variables\":3} , \"v\\u0061riables\" : [] } }",
         true},
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":false,\"command\":"
         "\"variables\","
         "\"body\":{\"variables\":[]}}",
         false},
        {"{\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":\"variables\","
         "\"body\":{\"variables\":[]},\"seq\":1}",
         false},
        {"{\"seq\":1,\"type\":\"response\",\"success\":true,\"command\":\"variables\","
         "\"body\":{\"variables\":[]},\"request_seq\":2}",
         false},
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"
         "\"variables\","
         "\"body\":{\"variables\":[]},\"message\":\"m\"}",
         false},
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"
         "\"variables\","
         "\"body\":{\"other\":[]}}",
         false},
        {"{\"seq\":1,\"type\":\"response\",\"request_seq\":2,\"success\":true,\"command\":"
         "\"variables\","
         "\"body\":[{\"variables\":[]}]}",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct envelope envelope;
        const char *problem, *json = cases[i].json;
        size_t len = strlen(json);
        assert_int_equal(envelope_read(&envelope, json, len, &problem), 0);
        size_t rows = kept_rows(json, len, &envelope);
        assert_int_equal(rows != 0, cases[i].found);
        assert_true(!rows || strncmp(json + rows, "[]", 2) == 0);
        for (size_t cut = 0; rows && cut <= rows; cut++) {
            char *copy = mem_string_n(json, cut); /* for the sanitizer */
            assert_int_equal(kept_rows(copy, cut, &envelope), 0);
            free(copy);
        }
    }
}

static void test_a_long_head_is_none(void **state)
{
    (void)state;
    char front[2 * KEPT_HEAD_LIMIT];
    memset(front, ' ', sizeof front);
    front[sizeof front - 1] = '\0';
    struct answer answer = answer_of(1, front, 'x', 10);
    assert_int_equal(answer.rows, 0);
    free(answer.json);
}

static void check_message(const char *json, size_t len, const struct envelope *envelope,
                          const char *expected)
{
    struct envelope read;
    const char *problem;
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(json, expected, len);
    assert_int_equal(envelope_read(&read, json, len, &problem), 0);
    assert_memory_equal(envelope->name, read.name, strlen(read.name) + 1);
    assert_memory_equal(&envelope->whole, &read.whole, sizeof read.whole);
    assert_memory_equal(&envelope->seq_at, &read.seq_at, sizeof read.seq_at);
    assert_memory_equal(&envelope->request_seq_at, &read.request_seq_at, sizeof read.seq_at);
    assert_memory_equal(&envelope->body, &read.body, sizeof read.body);
    assert_int_equal(envelope->message.len, 0);
    assert_int_equal(envelope->success, read.success);
}

/* As it is read from the start of a message that comes in parts. */
static struct envelope head_of(const struct answer *answer)
{
    struct envelope head;
    assert_true(envelope_read_head(&head, answer->json, answer->rows));
    return head;
}

static void test_an_answer_is_sent_with_another_head(void **state)
{
    (void)state;
    struct kept_list list = {0};
    struct envelope out;
    size_t len;
    struct answer first = answer_of(7, "", 'x', 5000);
    char *edited =
        mem_format("%.*s[\"3 refs\", %s", (int)first.rows, first.json, first.json + first.rows + 1);
    put(&list, &first, edited);
    struct answer second = answer_of(123456, "\"tag\": [1, 2], ", 'x', 5000);
    struct kept *kept = find(&list, &second);
    assert_non_null(kept);
    char *expected = mem_format("%.*s[\"3 refs\", %s", (int)second.rows, second.json,
                                second.json + second.rows + 1);
    const char *sent = kept_sent(kept, second.json, second.rows, &second.envelope, &len, &out);
    check_message(sent, len, &out, expected);
    struct envelope head = head_of(&second);
    const char *came = kept_came(kept, second.json, second.rows, &head, &len, &out);
    check_message(came, len, &out, second.json);
    /* It may be kept from its own bytes. */
    kept_put(&list, &basis, came, len, &out, &(struct buf){0}, NULL);
    check_message(came, len, &out, second.json);
    assert_ptr_equal(find(&list, &first), kept);
    assert_null(kept_sent(kept, second.json, second.rows, &head, &len, &out));
    kept_clear(&list);
    free(expected);
    free(edited);
    free(first.json);
    free(second.json);
}

static void test_only_the_same_bytes_count(void **state)
{
    (void)state;
    struct kept_list list = {0};
    keep(&list, 'x', 5000);
    struct answer answer = answer_of(1, "", 'x', 5000);
    char *rows = answer.json + answer.rows;
    size_t len = answer.len - answer.rows;
    assert_true(is_kept(&list, 2, 'x', 5000));
    assert_false(is_kept(&list, 2, 'x', 5001));
    for (size_t at = 0; at < len; at += at < 20 || at + 20 > len ? 1 : 997) {
        rows[at] ^= 1;
        assert_null(find(&list, &answer));
        rows[at] ^= 1;
    }
    struct kept *kept = kept_begins(&list, rows, 10, len);
    assert_non_null(kept);
    assert_null(kept_begins(&list, rows, 10, len - 1));
    assert_true(kept_goes_on(kept, 10, rows + 10, len - 10));
    assert_false(kept_goes_on(kept, 11, rows + 10, len - 11));
    assert_false(kept_goes_on(kept, 10, rows + 10, len - 9));
    free(answer.json);
    kept_clear(&list);
}

static void test_it_holds_for_what_it_was_made_from(void **state)
{
    (void)state;
    struct kept_list list = {0};
    struct buf none = {0};
    struct answer answer = answer_of(1, "", 'x', 5000);
    put(&list, &answer, NULL);
    struct kept *kept = find(&list, &answer);
    struct kept_basis other = basis;
    assert_true(kept_holds(kept, &basis));
    other.reference++;
    assert_false(kept_holds(kept, &other));
    other = basis;
    other.frame++;
    assert_false(kept_holds(kept, &other));
    other = basis;
    other.known++;
    assert_false(kept_holds(kept, &other));
    other = basis;
    other.facts++;
    assert_false(kept_holds(kept, &other));
    /* Nothing that facts tell of is in it. */
    struct kept_basis plain = basis;
    plain.facts = -1;
    kept_put(&list, &plain, answer.json, answer.len, &answer.envelope, &none, NULL);
    assert_true(kept_holds(kept, &other));
    free(answer.json);
    kept_clear(&list);
}

static void test_a_buffer_is_taken_as_it_is(void **state)
{
    (void)state;
    struct kept_list list = {0};
    struct buf room = {0}, none = {0};
    struct envelope out;
    size_t len;
    struct answer answer = answer_of(1, "", 'x', 5000);
    buf_reserve(&room, KEPT_HEAD_LIMIT);
    room.len = KEPT_HEAD_LIMIT - answer.rows;
    buf_add(&room, answer.json, answer.len);
    const char *json = room.data + KEPT_HEAD_LIMIT - answer.rows;
    kept_put(&list, &basis, json, answer.len, &answer.envelope, &none, &room);
    assert_null(room.data);
    struct kept *kept = find(&list, &answer);
    const char *came = kept_came(kept, answer.json, answer.rows, &answer.envelope, &len, &out);
    assert_ptr_equal(came, json);
    check_message(came, len, &out, answer.json);
    free(answer.json);
    kept_clear(&list);
}

static void test_there_is_a_bound(void **state)
{
    (void)state;
    struct kept_list list = {0};
    keep(&list, 'x', KEPT_LEAST / 2);
    assert_null(list.first);
    keep(&list, 'x', KEPT_BYTES);
    assert_null(list.first);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
    for (size_t i = 0; letters[i]; i++) {
        char letter = letters[i];
        keep(&list, letter, KEPT_BYTES / 4);
        keep(&list, letter, KEPT_BYTES / 4);
        assert_true(list.bytes <= KEPT_BYTES);
        assert_true(is_kept(&list, 1, letter, KEPT_BYTES / 4));
    }
    assert_true(is_kept(&list, 1, 'x', KEPT_BYTES / 4));
    assert_false(is_kept(&list, 1, 'a', KEPT_BYTES / 4));
    kept_clear(&list);
    assert_int_equal(list.bytes, 0);
    assert_false(is_kept(&list, 1, 'z', KEPT_BYTES / 4));
}

static void test_what_came_before_is_remembered(void **state)
{
    (void)state;
    enum { SIZE = 4096, MANY = 64 };
    struct kept_list list = {0};
    char rows[SIZE];
    memset(rows, 'a', sizeof rows);
    assert_false(kept_came_before(&list, rows, sizeof rows));
    assert_true(kept_came_before(&list, rows, sizeof rows));
    assert_false(kept_came_before(&list, rows, sizeof rows - 1));
    assert_false(kept_came_before(&list, rows, 1));
    for (int i = 0; i < MANY; i++) {
        rows[SIZE - 512] = (char)i; /* where it looks, and only there */
        assert_false(kept_came_before(&list, rows, sizeof rows));
    }
    assert_true(kept_came_before(&list, rows, sizeof rows));
    rows[SIZE - 512] = 'a';
    assert_false(kept_came_before(&list, rows, sizeof rows)); /* the oldest goes first */
    kept_clear(&list);
    assert_false(kept_came_before(&list, rows, sizeof rows));
    kept_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_found_behind_any_head),
        cmocka_unit_test(test_a_long_head_is_none),
        cmocka_unit_test(test_an_answer_is_sent_with_another_head),
        cmocka_unit_test(test_only_the_same_bytes_count),
        cmocka_unit_test(test_it_holds_for_what_it_was_made_from),
        cmocka_unit_test(test_a_buffer_is_taken_as_it_is),
        cmocka_unit_test(test_there_is_a_bound),
        cmocka_unit_test(test_what_came_before_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
