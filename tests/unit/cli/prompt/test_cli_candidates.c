/* The completions of a word: what they share, and how they are shown. */
#include "cmocka_prelude.h"

#include "cli/prompt/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void test_what_they_share(void **state)
{
    (void)state;
    struct candidates candidates = {0};
    assert_int_equal(candidates_common(&candidates), 0);
    candidates_add(&candidates, "number");
    candidates_add(&candidates, "number");
    assert_int_equal(candidates.count, 1);
    assert_int_equal(candidates_common(&candidates), 6);
    candidates_add(&candidates, "nullable");
    assert_int_equal(candidates_common(&candidates), 2);
    candidates_clear(&candidates);
    candidates_add(&candidates, "aä");
    candidates_add(&candidates, "aö");
    assert_int_equal(candidates_common(&candidates), 1);
    candidates_clear(&candidates);
}

static void test_columns(void **state)
{
    (void)state;
    struct candidates candidates = {0};
    char word[8], head[64], *shown = NULL;
    size_t len;
    for (int i = 0; i < 62; i++) {
        snprintf(word, sizeof word, "w%02d", i);
        candidates_add(&candidates, word);
    }
    FILE *stream = open_memstream(&shown, &len);
    candidates_print(&candidates, stream);
    fclose(stream);
    snprintf(head, sizeof head, "%-24s %-24s ", "w00", "w01");
    assert_memory_equal(shown, head, strlen(head));
    assert_non_null(strstr(shown, "w03\nw04  "));
    assert_string_equal(strstr(shown, "w59"), "w59\nand 2 more\n");
    free(shown);
    candidates_clear(&candidates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_they_share),
        cmocka_unit_test(test_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
