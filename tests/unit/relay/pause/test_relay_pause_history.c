/* When pauses began and ended. */
#include "cmocka_prelude.h"

#include "relay/pause/pause_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The history takes it over. */
static struct pause *sample(const char *reason, const char *file)
{
    static struct pause made;
    pause_copy(&made, &(struct pause){.task_name = "step",
                                      .host = "10.0.0.7",
                                      .port = 4711,
                                      .reason = (char *)reason,
                                      .file = (char *)file,
                                      .line = file ? 8 : 0});
    return &made;
}

static char *json_of(const struct pause_history *history)
{
    struct buf out = {0};
    pause_history_json(history, &out);
    return buf_take(&out);
}

static void check_has(const struct pause_history *history, const char *part, bool has)
{
    char *json = json_of(history);
    assert_int_equal(strstr(json, part) != NULL, has);
    free(json);
}

static void a_pause_begins_and_ends(void **state)
{
    (void)state;
    struct pause_history history = {0};
    char *json = json_of(&history);
    assert_string_equal(json, "[]");
    free(json);
    int64_t number = pause_history_begin(&history, sample("step", NULL), 1700000000007);
    check_has(&history, "\"began\": 1700000000.007, \"ended\": null}]", true);
    pause_history_renew(&history, number, sample("step", "a.py"));
    pause_history_renew(&history, number, sample("pause", NULL));
    check_has(&history, "{\"file\": \"a.py\", \"line\": 8}", true); /* the location is kept */
    check_has(&history, "\"reason\": \"pause\"", true);
    pause_history_end(&history, number, 1700000001250);
    check_has(&history, "\"ended\": 1700000001.250}]", true);
    pause_history_end(&history, 0, 1);
    pause_history_end(&history, number + 1, 1);
    check_has(&history, "\"ended\": 1700000001.250}]", true);
    pause_history_clear(&history);
}

static void the_oldest_are_forgotten(void **state)
{
    (void)state;
    struct pause_history history = {0};
    int64_t first = pause_history_begin(&history, sample("step", NULL), 1000);
    for (int i = 1; i <= PAUSE_HISTORY_MOST; i++)
        pause_history_begin(&history, sample("step", NULL), 1000 + i);
    check_has(&history, "\"began\": 1.000,", false);
    char *json = json_of(&history);
    size_t count = 0;
    for (const char *at = json; (at = strstr(at, "\"began\"")); at++)
        count++;
    assert_int_equal(count, PAUSE_HISTORY_MOST);
    assert_true(strstr(json, "\"began\": 1.001,") < strstr(json, "\"began\": 2.000,"));
    free(json);
    pause_history_renew(&history, first,
                        sample("another", NULL)); /* is there no more: nothing else has its end */
    pause_history_end(&history, first, 99000);
    check_has(&history, "another", false);
    check_has(&history, "99.000", false);
    pause_history_clear(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pause_begins_and_ends),
        cmocka_unit_test(the_oldest_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
