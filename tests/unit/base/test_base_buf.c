#include "cmocka_prelude.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

static void assert_holds(const struct buf *buf, const char *expected)
{
    assert_int_equal(buf->len, strlen(expected));
    assert_string_equal(buf->data, expected);
    assert_true(buf->cap > buf->len);
}

static void test_add(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_add(&buf, NULL, 0);
    assert_holds(&buf, "");
    buf_add(&buf, "abc", 2);
    assert_holds(&buf, "ab");
    buf_add_string(&buf, "cd");
    buf_add_string(&buf, "");
    assert_holds(&buf, "abcd");
    buf_printf(&buf, "%s-%d", "x", 7);
    buf_printf(&buf, "%s", "");
    assert_holds(&buf, "abcdx-7");
    buf_free(&buf);
    assert_null(buf.data);
    assert_int_equal(buf.len + buf.cap, 0);
    buf_free(&buf);
}

static void test_nul_bytes_are_kept(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_add(&buf, "a\0b", 3);
    assert_int_equal(buf.len, 3);
    assert_memory_equal(buf.data, "a\0b", 4);
    buf_free(&buf);
}

/* At every size, so that each growth is met with every remainder. */
static void test_growth(void **state)
{
    (void)state;
    struct buf buf = {0};
    for (size_t i = 0; i < 5000; i++) {
        char c = (char)('a' + i % 26);
        buf_add(&buf, &c, 1);
        assert_int_equal(buf.len, i + 1);
        assert_true(buf.cap > buf.len);
        assert_int_equal(buf.data[buf.len], '\0');
    }
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(buf.data[i], 'a' + i % 26);
    buf_free(&buf);
    for (size_t len = 200; len < 600; len++) {
        char text[600];
        memset(text, 'x', len);
        text[len] = '\0';
        buf_printf(&buf, "%s", text);
        assert_holds(&buf, text);
        buf_free(&buf);
    }
}

static void check_pattern(const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        assert_int_equal(data[i], 'a' + i % 26);
    assert_int_equal(data[len], '\0');
}

static void fill_pattern(struct buf *buf, size_t len)
{
    while (buf->len < len) {
        char c = (char)('a' + buf->len % 26);
        buf_add(buf, &c, 1);
    }
}

/* Its bytes do not begin where its memory does. */
static void test_a_large_one(void **state)
{
    (void)state;
    struct buf buf = {0};
    const size_t sizes[] = {1 << 10, 60 << 10, 70 << 10, 100 << 10, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill_pattern(&buf, sizes[i]);
        check_pattern(buf.data, buf.len);
    }
    struct buf moved = buf;
    buf = (struct buf){0};
    char *text = buf_take(&moved);
    check_pattern(text, 1 << 20);
    free(text);
    for (size_t len = 0; len <= 26; len += 26) {
        buf_reserve(&buf, 1 << 20);
        fill_pattern(&buf, len);
        text = buf_take(&buf);
        check_pattern(text, len);
        free(text);
    }
    buf_reserve(&buf, 1 << 20);
    fill_pattern(&buf, 26);
    buf_consume(&buf, 26);
    fill_pattern(&buf, 26);
    check_pattern(buf.data, 26);
    buf_free(&buf);
    assert_null(buf.data);
}

static void test_reserve(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_add_string(&buf, "ab");
    char *to = buf_reserve(&buf, 1000);
    assert_ptr_equal(to, buf.data + 2);
    assert_true(buf.cap >= 2 + 1000 + 1);
    assert_int_equal(buf.len, 2);
    memset(to, 'c', 1000);
    buf.len += 1000;
    buf_add_string(&buf, "d");
    assert_int_equal(buf.len, 1003);
    assert_memory_equal(buf.data + 1000, "ccd", 4);
    buf_free(&buf);
}

static void test_consume(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_consume(&buf, 5);
    assert_null(buf.data);
    buf_add_string(&buf, "abcdef");
    buf_consume(&buf, 0);
    assert_holds(&buf, "abcdef");
    buf_consume(&buf, 2);
    assert_holds(&buf, "cdef");
    buf_consume(&buf, 4);
    assert_holds(&buf, "");
    buf_add_string(&buf, "xyz");
    buf_consume(&buf, 99);
    assert_holds(&buf, "");
    buf_free(&buf);
}

static void test_clear(void **state)
{
    (void)state;
    struct buf buf = {0};
    buf_clear(&buf, 10);
    assert_null(buf.data);
    buf_add_string(&buf, "abc");
    size_t cap = buf.cap;
    buf_clear(&buf, cap);
    assert_holds(&buf, "");
    assert_int_equal(buf.cap, cap);
    buf_add_string(&buf, "abc");
    buf_clear(&buf, cap - 1);
    assert_null(buf.data);
    assert_int_equal(buf.cap, 0);
    buf_add_string(&buf, "again");
    assert_holds(&buf, "again");
    buf_free(&buf);
}

static void test_take(void **state)
{
    (void)state;
    struct buf buf = {0};
    char *text = buf_take(&buf);
    assert_string_equal(text, "");
    free(text);
    buf_add_string(&buf, "abc");
    text = buf_take(&buf);
    assert_string_equal(text, "abc");
    assert_null(buf.data);
    assert_int_equal(buf.len, 0);
    free(text);
}

static void test_the_rest_of_two_parts(void **state)
{
    (void)state;
    for (size_t done = 0; done <= 7; done++) {
        struct buf buf = {0};
        buf_add_rest(&buf, "head", 4, "end", 3, done);
        assert_string_equal(buf.data, &"headend"[done]);
        buf_free(&buf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add),
        cmocka_unit_test(test_nul_bytes_are_kept),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_a_large_one),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_consume),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_take),
        cmocka_unit_test(test_the_rest_of_two_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
