/* Pauses as JSON, YAML and a table. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "cli/common/terminal.h"
#include "cli/pauses/pause_table.h"

#include <cjson/cJSON.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fields, in order; README's users rely on them. */
static const char *const fields[] = {
    "task_id",      "task_name",
    "actor_id",     "actor_class",
    "actor_name",   "job_id",
    "node_id",      "node_ip",
    "pid",          "worker_id",
    "debugger",     "endpoint",
    "state",        "paused_threads",
    "ambiguous",    "candidates",
    "location",     "since",
    "since_source", "reason",
    "clients",      "driver",
    "held_since",   "stopped_at",
    "client_left",  "run",
};
enum { FIELDS = sizeof fields / sizeof *fields };

static char candidates[2][ID_TEXT(ID_TASK_BYTES)] = {TASK_ID("c1"), TASK_ID("c2")};

static struct pause whole = {
    .task_id = TASK_ID("c1"),
    .task_name = "Trainer.step",
    .actor_id = ACTOR_ID("d1"),
    .actor_class = "Trainer",
    .actor_name = "bob",
    .job_id = "01000000",
    .node_id = UNIQUE_ID("b1"),
    .node_ip = "10.0.0.7",
    .node_name = "alpha",
    .worker_id = UNIQUE_ID("a1"),
    .pid = 4711,
    .debugger = PAUSE_PDB,
    .host = "localhost",
    .port = 39947,
    .state = PAUSE_WAITING,
    .paused_threads = 1,
    .ambiguous = true,
    .candidates = candidates,
    .candidate_count = 2,
    .file = "/app/train.py",
    .line = 12,
    .since_ms = 1700000000042,
};

/* Nothing is known but where. */
static struct pause bare = {.host = "::1", .port = 5678, .paused_threads = -1};

/* Checks that there is just this, up to white space, and gives it. */
static cJSON *parse(const char *text, size_t len)
{
    const char *end = NULL;
    assert_int_equal(strlen(text), len);
    cJSON *root = cJSON_ParseWithOpts(text, &end, 1);
    if (!root)
        print_error("%s\n", text);
    assert_non_null(root);
    return root;
}

static cJSON *json_of(const struct pause *pause)
{
    struct buf out = {0};
    pause_json(pause, &out);
    assert_null(strchr(out.data, '\n'));
    cJSON *root = parse(out.data, out.len);
    buf_free(&out);
    return root;
}

static void check_fields(const cJSON *object)
{
    size_t i = 0;
    for (const cJSON *member = object->child; member; member = member->next, i++) {
        assert_true(i < FIELDS);
        assert_string_equal(member->string, fields[i]);
    }
    assert_int_equal(i, FIELDS);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
    if (!text)
        print_error("%s is no text\n", name);
    assert_non_null(text);
    return text;
}

static double number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void json_has_what_is_known(void **state)
{
    (void)state;
    cJSON *root = json_of(&whole);
    check_fields(root);
    assert_string_equal(text_of(root, "task_id"), TASK_ID("c1"));
    assert_string_equal(text_of(root, "task_name"), "Trainer.step");
    assert_string_equal(text_of(root, "actor_id"), ACTOR_ID("d1"));
    assert_string_equal(text_of(root, "actor_class"), "Trainer");
    assert_string_equal(text_of(root, "actor_name"), "bob");
    assert_string_equal(text_of(root, "job_id"), "01000000");
    assert_string_equal(text_of(root, "node_id"), UNIQUE_ID("b1"));
    assert_string_equal(text_of(root, "node_ip"), "10.0.0.7");
    assert_string_equal(text_of(root, "worker_id"), UNIQUE_ID("a1"));
    assert_string_equal(text_of(root, "debugger"), "pdb");
    assert_string_equal(text_of(root, "endpoint"), "localhost:39947");
    assert_string_equal(text_of(root, "state"), "waiting");
    assert_string_equal(text_of(root, "since_source"), "breakpoint");
    assert_true(number_of(root, "pid") == 4711);
    assert_true(number_of(root, "paused_threads") == 1);
    assert_true(number_of(root, "since") == 1700000000.042);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "ambiguous")));
    const cJSON *list = cJSON_GetObjectItem(root, "candidates");
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(cJSON_GetArrayItem(list, 1)->valuestring, TASK_ID("c2"));
    const cJSON *location = cJSON_GetObjectItem(root, "location");
    assert_int_equal(cJSON_GetArraySize(location), 2);
    assert_string_equal(text_of(location, "file"), "/app/train.py");
    assert_true(number_of(location, "line") == 12);
    cJSON_Delete(root);
}

static void json_is_null_for_what_is_not_known(void **state)
{
    (void)state;
    static const char *const known[] = {"debugger", "endpoint", "state", "ambiguous", "candidates"};
    cJSON *root = json_of(&bare);
    check_fields(root);
    for (size_t i = 0; i < FIELDS; i++) {
        bool expected = true;
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            expected = expected && strcmp(fields[i], known[k]) != 0;
        assert_int_equal(cJSON_IsNull(cJSON_GetObjectItem(root, fields[i])), expected);
    }
    assert_string_equal(text_of(root, "debugger"), "debugpy");
    assert_string_equal(text_of(root, "endpoint"), "[::1]:5678");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(root, "ambiguous")));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "candidates")), 0);
    cJSON_Delete(root);
}

static void json_of_odd_names(void **state)
{
    (void)state;
    struct pause pause = bare;
    pause.task_name = "a\"b\\c\nd\033e\xff日\177\xC2\x9B\xC2\xA0";
    pause.file = "C:\\x\t.py";
    cJSON *root = json_of(&pause);
    assert_string_equal(text_of(root, "task_name"),
                        "a\"b\\c\nd\033e\xEF\xBF\xBD日\177\xC2\x9B\xC2\xA0");
    assert_string_equal(text_of(cJSON_GetObjectItem(root, "location"), "file"), "C:\\x\t.py");
    cJSON_Delete(root);
    struct buf out = {0};
    pause_json(&pause, &out);
    assert_null(strchr(out.data, '\033')); /* a terminal may show it */
    assert_null(strchr(out.data, '\177'));
    assert_null(strstr(out.data, "\xC2\x9B"));
    buf_free(&out);
}

static void json_with_small_and_large_numbers(void **state)
{
    (void)state;
    struct pause pause = bare;
    struct buf out = {0};
    pause.paused_threads = 0; /* known: nobody waits */
    pause.since_ms = 1700000000005;
    pause_json(&pause, &out);
    assert_non_null(strstr(out.data, "\"paused_threads\": 0,"));
    assert_non_null(strstr(out.data, "\"since\": 1700000000.005,"));
    assert_non_null(strstr(out.data, "\"since_source\": \"task_start\","));
    buf_free(&out);
}

static void json_lists(void **state)
{
    (void)state;
    struct pause items[] = {whole, bare};
    for (size_t count = 0; count <= 2; count++) {
        struct pause_list list = {items, count};
        struct buf out = {0};
        pauses_json(&list, &out);
        assert_int_equal(out.data[out.len - 1], '\n');
        cJSON *root = parse(out.data, out.len);
        assert_true(cJSON_IsArray(root));
        assert_int_equal(cJSON_GetArraySize(root), count);
        cJSON_Delete(root);
        size_t lines = 0;
        for (const char *c = out.data; *c; c++)
            lines += *c == '\n';
        assert_int_equal(lines, count ? count + 2 : 1);
        buf_free(&out);
    }
}

/* Each line is "- name: JSON" or "  name: JSON". */
static void yaml_has_the_same_fields(void **state)
{
    (void)state;
    struct pause odd = bare;
    odd.task_name = "a: b\n- c # \"d\"";
    struct pause items[] = {whole, bare, odd};
    struct pause_list list = {items, 3};
    struct buf out = {0};
    size_t line = 0;
    pauses_yaml(&list, &out);
    for (char *at = out.data; *at; line++) {
        char *end = strchr(at, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_int_equal(strncmp(at, line % FIELDS ? "  " : "- ", 2), 0);
        char *colon = strstr(at, ": ");
        assert_non_null(colon);
        *colon = '\0';
        assert_string_equal(at + 2, fields[line % FIELDS]);
        cJSON_Delete(parse(colon + 2, strlen(colon + 2)));
        if (line == 2 * FIELDS + 1)
            assert_string_equal(colon + 2, "\"a: b\\n- c # \\\"d\\\"\"");
        at = end + 1;
    }
    assert_int_equal(line, 3 * FIELDS);
    buf_free(&out);
    list.count = 0;
    pauses_yaml(&list, &out);
    assert_string_equal(out.data, "[]\n");
    buf_free(&out);
}

/* --- ages --- */

static void check_age(int64_t seconds, const char *expected)
{
    char age[24];
    const int64_t now = 1700000000999;
    pause_age(now - seconds * 1000, now, age);
    assert_string_equal(age, expected);
}

static void ages(void **state)
{
    (void)state;
    char age[24];
    check_age(0, "0s");
    check_age(1, "1s");
    check_age(119, "119s");
    check_age(120, "2m");
    check_age(2 * 3600 - 1, "119m");
    check_age(2 * 3600, "2h");
    check_age(2 * 86400 - 1, "47h");
    check_age(2 * 86400, "2d");
    check_age(1000 * 86400, "1000d");
    check_age(-5, "0s"); /* the cluster's clock is ahead */
    pause_age(0, 1700000000000, age);
    assert_string_equal(age, "-");
    pause_age(-1, 1700000000000, age);
    assert_string_equal(age, "-");
    pause_age(1, INT64_MAX, age);
    assert_true(strlen(age) > 0);
}

/* --- the table --- */

static const struct table_style plain = {.width = 100, .utf8 = true, .now_ms = 1700000012000};

static struct buf table_of(struct pause *items, size_t count, const struct table_style *style)
{
    struct pause_list list = {items, count};
    struct buf out = {0};
    pauses_table(&list, &list, style, &out);
    return out;
}

static void table_of_known_and_unknown(void **state)
{
    (void)state;
    struct pause square = {.task_id = TASK_ID("c3"),
                           .task_name = "square",
                           .job_id = "0a010000",
                           .node_ip = "10.0.0.8",
                           .worker_id = UNIQUE_ID("a3"),
                           .host = "10.0.0.8",
                           .pid = 9,
                           .state = PAUSE_ATTACHED,
                           .since_ms = 1700000000000 - 3600 * 5000};
    struct pause items[] = {whole, square, bare};
    struct buf out = table_of(items, 3, &plain);
    assert_string_equal(
        out.data,
        "  TASK    NAME                       JOB   NODE       PID  DEBUGGER  STATE     AGE  "
        "LOCATION\n"
        "  c1c1c1  Trainer.step (bob) 1 of 2  01    10.0.0.7  4711  pdb       waiting   11s  "
        "train.py:12\n"
        "  c3c3c3  square                     0a01  10.0.0.8     9  debugpy   attached   5h  -\n"
        "  -       ?                          -     -            -  debugpy   waiting     -  -\n");
    buf_free(&out);
}

static void check_name(struct pause pause, const char *expected)
{
    char row[200];
    struct pause items[] = {pause};
    pause.host = "h";
    struct buf out = table_of(items, 1, &plain);
    snprintf(row, sizeof row, "  c1c1c1  %s  -  ", expected);
    if (!strstr(out.data, row))
        print_error("%s%s\n", out.data, expected);
    assert_non_null(strstr(out.data, row));
    buf_free(&out);
}

#define NAMED(...)                                                                                 \
    (struct pause)                                                                                 \
    {                                                                                              \
        .task_id = TASK_ID("c1"), __VA_ARGS__                                                      \
    }

static void names_in_the_table(void **state)
{
    (void)state;
    check_name(NAMED(.task_name = "square"), "square");
    check_name(NAMED(.actor_class = "Trainer"), "Trainer (no task)");
    check_name(NAMED(.actor_class = "Trainer", .actor_name = "bob"), "Trainer (no task) (bob)");
    check_name(NAMED(.task_name = "Trainer.step", .actor_class = "Trainer"), "Trainer.step");
    check_name(NAMED(.actor_class = "Trainer", .ambiguous = true, .candidate_count = 3,
                     .paused_threads = 2),
               "Trainer.? 2 of 3");
    check_name(NAMED(.task_name = "Trainer.step", .ambiguous = true, .candidate_count = 3),
               "Trainer.step ? of 3");
    check_name(NAMED(.ambiguous = true, .candidate_count = 2, .paused_threads = 1), "? 1 of 2");
}

/* Ids are as short as the whole cluster allows, whatever is shown of it. */
static void ids_are_unique_in_the_cluster(void **state)
{
    (void)state;
    struct pause items[] = {whole, whole};
    struct pause_list all = {items, 2}, shown = {items, 1};
    struct buf out = {0};
    memcpy(items[1].task_id, "c1c1c1c7", 8);
    memcpy(items[1].worker_id, "a9", 2);
    items[1].port++;
    pauses_table(&shown, &all, &plain, &out);
    assert_non_null(strstr(out.data, "\n  c1c1c1c1  Trainer"));
    buf_free(&out);
}

static void tables_fit_their_width(void **state)
{
    (void)state;
    struct pause pause = whole;
    pause.task_name = "a_task_with_a_name_that_is_longer_than_the_whole_line_of_most_terminals."
                      "and_a_method_that_is_no_shorter_than_that_and_goes_on_for_quite_a_while";
    pause.actor_name = "an actor with a name";
    pause.file = "/app/a_module_with_a_name_that_is_longer_than_its_column_could_ever_be.py";
    pause.node_ip = "255.255.255.255";
    pause.job_id[7] = '1';
    for (int i = 0; i < 4; i++) {
        const struct table_style style = {
            .width = i & 1 ? 100 : 120, .utf8 = i & 2, .now_ms = plain.now_ms};
        struct pause items[] = {pause, bare};
        struct buf out = table_of(items, 2, &style);
        for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n"))
            assert_in_range(terminal_width(line), 1, style.width);
        buf_free(&out);
    }
}

/* Anybody can name a task, an actor or a file. */
static void the_table_is_fit_for_a_terminal(void **state)
{
    (void)state;
    struct pause pause = whole;
    pause.task_name = "a\033[2J\nb";
    pause.actor_name = "\007c\r";
    pause.file = "/app/\x9b"
                 "0m\177.py";
    pause.node_ip = "10.0.0.7\033c\xe2\x80\xae"; /* U+202E turns round what is behind it */
    struct buf out = table_of(&pause, 1, &plain);
    size_t lines = 0;
    for (const char *c = out.data; *c; c++) {
        lines += *c == '\n';
        assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    }
    assert_int_equal(lines, 2);
    assert_non_null(strstr(out.data, "a?[2J?b (?c?) 1 of 2"));
    assert_non_null(strstr(out.data, "?0m?.py:12"));
    buf_free(&out);
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_has_what_is_known),
        cmocka_unit_test(json_is_null_for_what_is_not_known),
        cmocka_unit_test(json_of_odd_names),
        cmocka_unit_test(json_with_small_and_large_numbers),
        cmocka_unit_test(json_lists),
        cmocka_unit_test(yaml_has_the_same_fields),
        cmocka_unit_test(ages),
        cmocka_unit_test(table_of_known_and_unknown),
        cmocka_unit_test(names_in_the_table),
        cmocka_unit_test(ids_are_unique_in_the_cluster),
        cmocka_unit_test(tables_fit_their_width),
        cmocka_unit_test(the_table_is_fit_for_a_terminal),
    };
    return cmocka_run_group_tests_name("pause_output", tests, NULL, NULL);
}
