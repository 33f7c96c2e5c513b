/* The lines of `raydbg list --watch` in a pipe. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "cli/pauses/pause_watch.h"

#include <cjson/cJSON.h>

#include <stdio.h>
#include <string.h>

static const struct pause square = {.task_id = TASK_ID("c1"),
                                    .task_name = "square",
                                    .worker_id = UNIQUE_ID("a1"),
                                    .host = "10.0.0.7",
                                    .port = 40001,
                                    .pid = 1,
                                    .paused_threads = 1};

static const struct pause cube = {.task_id = TASK_ID("c2"),
                                  .task_name = "cube",
                                  .worker_id = UNIQUE_ID("a2"),
                                  .host = "10.0.0.7",
                                  .port = 40002,
                                  .pid = 2,
                                  .paused_threads = 1};

/* Sums the lines up as "event name state, …", after checking that each is one object. */
static void summarise(const struct buf *out, char *summary, size_t size)
{
    *summary = '\0';
    for (const char *at = out->data; at && *at;) {
        const char *end;
        cJSON *root = cJSON_ParseWithOpts(at, &end, 0);
        assert_non_null(root);
        assert_int_equal(*end, '\n');
        assert_int_equal(cJSON_GetArraySize(root), 2);
        const cJSON *pause = cJSON_GetObjectItem(root, "pause");
        assert_true(cJSON_IsObject(pause));
        size_t len = strlen(summary);
        snprintf(summary + len, size - len, "%s %s %s, ",
                 cJSON_GetObjectItem(root, "event")->valuestring,
                 cJSON_GetObjectItem(pause, "task_name")->valuestring,
                 cJSON_GetObjectItem(pause, "state")->valuestring);
        cJSON_Delete(root);
        at = end + 1;
    }
}

static void check(struct pause *before, size_t before_count, struct pause *after,
                  size_t after_count, const char *expected)
{
    char summary[500];
    struct buf out = {0};
    struct pause_list old = {before, before_count}, new = {after, after_count};
    pause_changes(&old, &new, &out);
    summarise(&out, summary, sizeof summary);
    assert_string_equal(summary, expected);
    buf_free(&out);
}

static void nothing_new_says_nothing(void **state)
{
    (void)state;
    struct pause before[] = {square, cube}, after[] = {cube, square}; /* order is no change */
    check(NULL, 0, NULL, 0, "");
    check(before, 2, after, 2, "");
}

static void what_appears_and_goes(void **state)
{
    (void)state;
    struct pause both[] = {square, cube};
    check(NULL, 0, both, 2, "added square waiting, added cube waiting, ");
    check(both, 2, NULL, 0, "removed square waiting, removed cube waiting, ");
    check(both, 1, both, 2, "added cube waiting, ");
    check(both, 2, both + 1, 1, "removed square waiting, ");
    check(both, 1, both + 1, 1, "removed square waiting, added cube waiting, ");
}

static void what_changes(void **state)
{
    (void)state;
    struct pause before[] = {square, cube}, after[] = {square, cube};
    after[1].state = PAUSE_ATTACHED;
    after[1].paused_threads = 0;
    check(before, 2, after, 2, "changed cube attached, ");
    after[0].task_name = "square again"; /* the next task of the same worker */
    check(before, 2, after, 2, "changed square again waiting, changed cube attached, ");
}

/* The name of a task is known only after its worker is. */
static void what_becomes_known(void **state)
{
    (void)state;
    struct pause before[] = {square}, after[] = {square};
    before[0].task_name = NULL;
    before[0].task_id[0] = '\0';
    check(before, 1, after, 1, "changed square waiting, ");
}

/* A worker's pdb entries are pauses of their own. */
static void pdb_entries_of_one_worker(void **state)
{
    (void)state;
    struct pause before[] = {square, square}, after[] = {square, square};
    before[0].debugger = before[1].debugger = after[0].debugger = after[1].debugger = PAUSE_PDB;
    before[1].port = after[0].port = 5;
    after[1].port = 6;
    after[1].task_name = "other";
    check(before, 2, after, 2, "removed square waiting, added other waiting, ");
}

static void lines_are_appended(void **state)
{
    (void)state;
    struct buf out = {0};
    struct pause item = square;
    struct pause_list none = {0}, one = {&item, 1};
    buf_add_string(&out, "before\n");
    pause_changes(&none, &one, &out);
    assert_int_equal(
        strncmp(out.data, "before\n{\"event\": \"added\", \"pause\": {\"task_id\": ", 45), 0);
    buf_free(&out);
}

static void states_of_the_cluster(void **state)
{
    (void)state;
    struct buf out = {0};
    struct err err;
    watch_live("10.0.0.5:6379", NULL, &out);
    watch_live("10.0.0.5:6379", "10.0.0.5:4713", &out);
    err_set(&err, ERR_UNREACHABLE, "no \"answer\"");
    err_hint(&err, "try");
    watch_away(&err, &out);
    assert_string_equal(
        out.data, "{\"event\":\"live\",\"cluster\":\"10.0.0.5:6379\",\"relay\":null}\n"
                  "{\"event\":\"live\",\"cluster\":\"10.0.0.5:6379\",\"relay\":\"10.0.0.5:4713\"}\n"
                  "{\"event\":\"away\",\"error\":{\"what\":\"no "
                  "\\\"answer\\\"\",\"why\":null,\"hint\":\"try\"}}\n");
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_new_says_nothing),
        cmocka_unit_test(what_appears_and_goes),
        cmocka_unit_test(what_changes),
        cmocka_unit_test(what_becomes_known),
        cmocka_unit_test(pdb_entries_of_one_worker),
        cmocka_unit_test(lines_are_appended),
        cmocka_unit_test(states_of_the_cluster),
    };
    return cmocka_run_group_tests_name("pause_watch", tests, NULL, NULL);
}
