/* The look at a message, in pieces of any size, finds what a plain search of the whole finds, and
 * reads nothing that has not come: each piece is a block of its own for the sanitizer to watch. */
#include "cmocka_prelude.h"

#include "relay/annotate/annotate_scan.h"
#include "relay/annotate/annotate_state.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { TEXTS = 20000, PIECES = 24, REFERENCES = 4096 };

static uint32_t state = 1;

static uint32_t next_random(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

/* What is looked for, and what is nearly that. */
static const char *const words[] = {
    "\"variablesReference\":",
    "\"variablesReference\": ",
    "\"variablesReference\"",
    "\"type\"",
    "\"type\" : \"ndarray\"",
    "\"type\":\"dict\", ",
    "\"type\": \"a.b\"",
    "ObjectRef(",
    "ObjectRef",
    "ActorHandle\"",
    "1",
    "2147483646",
    "R",
    "sR",
    "tR",
    "\"t",
    "\"",
    ":",
    "x",
    "0",
    "\"variablesReference\": 7, ",
    "\"variablesReference\": 8, ",
    "99999999999999999999",
    " , ",
    "the quick brown fox jumps",
};
enum { WORDS = sizeof words / sizeof *words };

static struct buf make(bool may_apply)
{
    struct buf text = {0};
    buf_add_string(&text, "{");
    for (uint32_t left = next_random(PIECES); left; left--) {
        const char *word = words[next_random(WORDS)];
        if (!may_apply && (strstr(word, "Object") || strstr(word, "nda") || strstr(word, "Actor")))
            continue;
        buf_add(&text, word, strlen(word) - (next_random(8) == 0));
    }
    return text;
}

/* --- a plain search --- */

static size_t behind(const struct buf *text, size_t at, const char *spaces)
{
    return at < text->len ? at + strspn(text->data + at, spaces) : at;
}

static bool type_applies(const struct buf *text, size_t at)
{
    static const char spaces[] = " \n\r\t";
    at = behind(text, at, spaces);
    if (at >= text->len || text->data[at] != ':')
        return false;
    at = behind(text, at + 1, spaces);
    if (at >= text->len || text->data[at] != '"')
        return false;
    const char *name = text->data + at + 1, *quote = strchr(name, '"');
    if (!quote)
        return false;
    size_t len = (size_t)(quote - name);
    return (len == 11 && strncmp(name, "ActorHandle", len) == 0) ||
           annotate_type_is_array(name, len);
}

static bool applies(const struct buf *text)
{
    if (strstr(text->data, "ObjectRef("))
        return true;
    for (const char *at = text->data; (at = strstr(at, "\"type\"")); at++)
        if (type_applies(text, (size_t)(at - text->data) + 6))
            return true;
    return false;
}

static size_t references_of(const struct buf *text, int64_t *out)
{
    static const char key[] = "\"variablesReference\":";
    size_t count = 0;
    for (const char *at = text->data; (at = strstr(at, key)); at++) {
        const char *digit = at + sizeof key - 1 + strspn(at + sizeof key - 1, " ");
        int64_t reference = 0;
        for (; *digit >= '0' && *digit <= '9' && reference < INT32_MAX; digit++)
            reference = reference * 10 + (*digit - '0');
        if (reference)
            out[count++] = reference;
    }
    return count;
}

/* --- */

static struct annotate_scan look_in_pieces(const struct buf *text)
{
    struct annotate_scan look = {0};
    uint32_t most = 1 + next_random(60);
    size_t len = 0;
    while (len < text->len) {
        size_t more = 1 + next_random(most);
        len = text->len - len < more ? text->len : len + more;
        char *come = mem_resize(NULL, len, 1);
        memcpy(come, text->data, len);
        annotate_scan_on(&look, come, len, false);
        if (len == text->len)
            annotate_scan_on(&look, come, len, true);
        free(come);
    }
    return look;
}

static void assert_references(const struct annotate_scan *look, const int64_t *references,
                              size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < look->run_count; i++)
        for (int64_t each = look->runs[i].first; each <= look->runs[i].last; each++) {
            assert_true(at < count);
            assert_int_equal(each, references[at++]);
        }
    assert_true(at == count || (look->scattered && look->run_count == ANNOTATE_RUNS));
}

static void test_as_a_plain_search(void **unused)
{
    (void)unused;
    static int64_t references[REFERENCES];
    size_t applied = 0, found = 0;
    for (int i = 0; i < TEXTS; i++) {
        struct buf text = make(i % 2);
        struct annotate_scan look = look_in_pieces(&text);
        if (look.applies != applies(&text))
            fail_msg("applies: %d: %s", look.applies, text.data);
        assert_int_equal(annotate_applies(text.data, text.len), look.applies);
        applied += look.applies;
        if (!look.applies) {
            size_t count = references_of(&text, references);
            assert_references(&look, references, count);
            found += count;
        }
        buf_free(&text);
    }
    assert_true(applied > TEXTS / 10 && applied < TEXTS && found > TEXTS / 10);
}

static void test_runs(void **unused)
{
    (void)unused;
    struct buf text = {0};
    struct annotate_scan look = {0};
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "{\"variablesReference\": %d}, ", 5000 + i);
    annotate_scan_on(&look, text.data, text.len, true);
    assert_int_equal(look.run_count, 1);
    assert_int_equal(look.runs[0].first, 5000);
    assert_int_equal(look.runs[0].last, 5999);
    assert_false(look.scattered);
    for (int i = 1; i < ANNOTATE_RUNS; i++)
        buf_printf(&text, "{\"variablesReference\": %d}, ", i * 10);
    annotate_scan_on(&look, text.data, text.len, true);
    assert_int_equal(look.run_count, ANNOTATE_RUNS);
    assert_false(look.scattered);
    buf_add_string(&text, "{\"variablesReference\": 0}, {\"variablesReference\": 3}");
    annotate_scan_on(&look, text.data, text.len, true);
    assert_true(look.scattered);
    buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_a_plain_search),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
