/* Each client sees the ids that it knows of the breakpoints that were hit. */
#include "cmocka_prelude.h"

#include "relay/hub/hit_ids.h"

#include <string.h>

static const char ann, bob, cleo;

static struct envelope envelope_of(const char *json)
{
    struct envelope envelope;
    const char *problem;
    assert_int_equal(envelope_read(&envelope, json, strlen(json), &problem), 0);
    return envelope;
}

static struct hit_set *lines(const char *arguments, const void *owner, size_t own)
{
    return hit_set_read("setBreakpoints", arguments, (struct span){0, strlen(arguments)}, owner,
                        own);
}

#define ANSWER(list)                                                                               \
    "{\"type\":\"response\",\"request_seq\":1,\"success\":true,\"command\":\"setBreakpoints\","    \
    "\"body\":{\"breakpoints\":[" list "]}}"
#define SET_IN(file, list) "{\"source\":{\"path\":\"" file "\"},\"breakpoints\":[" list "]}"
#define SET(list) SET_IN("/a.py", list)
#define STOP(hits)                                                                                 \
    "{\"type\":\"event\",\"event\":\"stopped\",\"body\":{\"hitBreakpointIds\":" hits               \
    ",\"threadId\":1}}"

static void answer(struct hit_ids *ids, struct hit_set *set, const char *json)
{
    struct envelope envelope = envelope_of(json);
    hit_ids_answer(ids, set, json, &envelope);
}

/* `expected` NULL: the event stays as it is. */
static void check(const struct hit_ids *ids, const void *owner, const char *stop,
                  const char *expected)
{
    struct envelope envelope = envelope_of(stop);
    struct buf out = {0};
    assert_int_equal(hit_ids_rewrite(ids, owner, stop, strlen(stop), &envelope, &out),
                     expected != NULL);
    if (expected)
        assert_string_equal(out.data, expected);
    else
        assert_int_equal(out.len, 0);
    buf_free(&out);
}

static void each_has_its_own(void **state)
{
    struct hit_ids ids = {0};
    (void)state;
    answer(&ids, lines(SET("{\"line\":12}"), &ann, SIZE_MAX), ANSWER("{\"id\":0}"));
    check(&ids, &ann, STOP("[0]"), NULL);
    answer(&ids, lines(SET("{\"line\":15},{\"line\":12}"), &bob, 1),
           ANSWER("{\"id\":1},{\"id\":2}"));
    check(&ids, &ann, STOP("[2]"), STOP("[0]"));
    check(&ids, &ann, STOP("[1, 2]"), STOP("[0]"));
    check(&ids, &bob, STOP("[1]"), NULL);
    check(&ids, &bob, STOP("[2]"), STOP("[]")); /* of the two, bob has named the first */
    check(&ids, &cleo, STOP("[1,2]"), STOP("[]"));
    /* An id that nobody was told of, and what is no list, stay. */
    check(&ids, &ann, STOP("[99]"), NULL);
    check(&ids, &ann, STOP("null"), NULL);
    hit_ids_drop(&ids, &ann);
    check(&ids, &ann, STOP("[2]"), STOP("[]"));
    hit_ids_clear(&ids);
}

static void each_source_has_its_own(void **state)
{
    struct hit_ids ids = {0};
    (void)state;
    answer(&ids, lines(SET_IN("/a.py", "{\"line\":12}"), &ann, SIZE_MAX), ANSWER("{\"id\":0}"));
    answer(&ids, lines(SET_IN("/b.py", "{\"line\":12}"), &ann, SIZE_MAX), ANSWER("{\"id\":1}"));
    answer(&ids, lines(SET_IN("/b.py", "{\"line\":12}"), &bob, SIZE_MAX), ANSWER("{\"id\":2}"));
    check(&ids, &ann, STOP("[0]"), NULL);
    check(&ids, &ann, STOP("[2]"), STOP("[1]"));
    check(&ids, &bob, STOP("[0]"), STOP("[]"));
    check(&ids, &ann, STOP("[1]"), NULL); /* the debuggee has no such breakpoint any more */
    answer(&ids, lines(SET_IN("/b.py", ""), &bob, SIZE_MAX), ANSWER(""));
    check(&ids, &ann, STOP("[2]"), NULL);
    check(&ids, &bob, STOP("[0]"), STOP("[]"));
    hit_ids_drop(&ids, &ann);
    hit_ids_drop(&ids, &bob);
    check(&ids, &ann, STOP("[0]"), STOP("[]"));
    hit_ids_clear(&ids);
}

static void the_relay_sets_them_anew(void **state)
{
    struct hit_ids ids = {0};
    struct envelope envelope = envelope_of(ANSWER("{\"id\":7}"));
    (void)state;
    answer(&ids, lines(SET("{\"line\":12}"), &ann, SIZE_MAX), ANSWER("{\"id\":0}"));
    hit_ids_ask(&ids, hit_set_read("setExceptionBreakpoints", "{}", (struct span){0, 2}, NULL, 0));
    hit_ids_ask(&ids, lines(SET("{\"line\":12}"), NULL, 0));
    hit_ids_ask(&ids, lines(SET("{\"line\":12}"), NULL, 0));
    hit_ids_answer_asked(&ids, ANSWER("{\"id\":7}"), &envelope); /* of the filters */
    check(&ids, &ann, STOP("[7]"), NULL);
    hit_ids_answer_asked(&ids, ANSWER("{\"id\":7}"), &envelope);
    check(&ids, &ann, STOP("[7]"), STOP("[0]"));
    hit_ids_answer_asked(&ids, NULL, NULL); /* the link is down */
    hit_ids_answer_asked(&ids, NULL, NULL);
    hit_ids_clear(&ids);
}

static void elements_of_any_kind(void **state)
{
    struct hit_ids ids = {0};
    (void)state;
    answer(&ids, lines(SET("1,{},[],{\"line\":\"x\"},{\"line\":4.0}"), &ann, SIZE_MAX),
           ANSWER("{\"id\":0},{\"id\":1},2,{\"id\":\"3\"},{\"id\":4}"));
    check(&ids, &ann, STOP("[0,1,4]"), NULL);
    check(&ids, &bob, STOP("[0,1,4]"), STOP("[0,1]"));
    assert_null(lines("", &ann, 0));
    assert_null(hit_set_read("threads", "{}", (struct span){0, 2}, &ann, 0));
    hit_ids_clear(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_its_own),
        cmocka_unit_test(each_source_has_its_own),
        cmocka_unit_test(the_relay_sets_them_anew),
        cmocka_unit_test(elements_of_any_kind),
    };
    return cmocka_run_group_tests_name("hit ids", tests, NULL, NULL);
}
