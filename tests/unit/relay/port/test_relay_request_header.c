/* Which headers of HTTP requests libwebsockets is given. */
#include "cmocka_prelude.h"

#include "relay/port/request_header.h"

#include <string.h>

#define START "GET /v1/pauses HTTP/1.1\r\n"

static void sound_ones(void **state)
{
    static const char *const headers[] = {
        START "\r\n",
        START "Host: h\r\n\r\n",
        "GET / HTTP/1.1\nHost: h\n\n",
        START "Host: h\r\nOrigin:\r\n\r\n",
        START "Host:h\r\nX-A_b.c~1: a\tb \xC3\xA9\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        size_t len = strlen(headers[i]);
        assert_int_equal(request_header_length(headers[i], len), len);
        assert_true(request_header_is_sound(headers[i], len));
    }
}

static void others(void **state)
{
    static const char *const headers[] = {
        "",
        START,
        START "Host: h\r\n",
        START "Host: h\r\n folded\r\n\r\n",
        START "Host h\r\n\r\n",
        START "Ho st: h\r\n\r\n",
        START ": h\r\n\r\n",
        START "X-Empty:\r\n\r\n",
        START "X-Empty: \t\r\n\r\n",
        START "X: a\x7F\r\n\r\n",
        START "X: a\x01\r\n\r\n",
        START "X: a\rb\r\n\r\n",
        START "Host: h\r\n\r\nX", /* more than the header */
    };
    (void)state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        assert_false(request_header_is_sound(headers[i], strlen(headers[i])));
}

static void the_first_empty_line_ends_it(void **state)
{
    static const char text[] = START "Host: h\r\n\r\nbody\n\nmore";
    (void)state;
    assert_int_equal(request_header_length(text, sizeof text - 1), strlen(START "Host: h\r\n\r\n"));
    assert_int_equal(request_header_length("a\n\nb\r\n\r\n", 8), 3);
    assert_int_equal(request_header_length(START, strlen(START)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_ones),
        cmocka_unit_test(others),
        cmocka_unit_test(the_first_empty_line_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
