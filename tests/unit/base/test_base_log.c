/* The log: each call writes one line. */
#include "cmocka_prelude.h"

#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The bytes that a warning with this text writes to stderr. */
static void warn(const char *text, char *out, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stderr);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    log_warn("'%s' was dropped", text);
    fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0);
    close(kept);
    rewind(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void text_from_outside_makes_no_line_and_no_escape(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"next", "raydbg: warn: 'next' was dropped\n"},
        {"r\xC3\xA9sum\xC3\xA9", "raydbg: warn: 'r\xC3\xA9sum\xC3\xA9' was dropped\n"},
        {"a\nraydbg: error: b", "raydbg: warn: 'a?raydbg: error: b' was dropped\n"},
        {"a\r\x1B[2J\x7F", "raydbg: warn: 'a?"
                           "?[2J?' was dropped\n"},
        {"\xC2\x9B\xFF", "raydbg: warn: '?"
                         "?' was dropped\n"}, /* C1, and no UTF-8 */
    };
    char line[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        warn(cases[i].text, line, sizeof line);
        assert_string_equal(line, cases[i].line);
    }
}

static void a_long_text_is_one_line_too(void **state)
{
    (void)state;
    char text[5000], line[6000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    warn(text, line, sizeof line);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_from_outside_makes_no_line_and_no_escape),
        cmocka_unit_test(a_long_text_is_one_line_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
